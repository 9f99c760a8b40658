// The magnetic field at each of n dipoles that all others make, as in simulations of spin ices:
// all pairs, places and moments in vector loads.
//
//     nvcc -O2 -o dipole_field dipole_field.cu && ./dipole_field 10000

#include "../host.h"

__global__ void dipole_field(int n, const float4 *__restrict__ places,
                             const float4 *__restrict__ moments, float4 *__restrict__ fields,
                             float softening) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float4 own = places[i];
        float3 field = make_float3(0.0f, 0.0f, 0.0f);
        for (int j = 0; j < n; j++) {
            if (j == i) continue;
            const float4 other = places[j], m = moments[j];
            const float dx = own.x - other.x, dy = own.y - other.y, dz = own.z - other.z;
            const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
            const float square = inverse * inverse, cube = inverse * square;
            const float along = 3.0f * square * (m.x * dx + m.y * dy + m.z * dz);
            field.x += cube * (along * dx - m.x);
            field.y += cube * (along * dy - m.y);
            field.z += cube * (along * dz - m.z);
        }
        fields[i] = make_float4(field.x, field.y, field.z, 0.0f);
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 256, 200000);
    const float softening = 0.01f;
    const std::vector<float> places = quick_values(4 * (size_t)n, 1);
    std::vector<float> moments = quick_values(4 * (size_t)n, 2);
    for (float &part : moments) part -= 0.2f;
    const float *d_places = to_device(places), *d_moments = to_device(moments);
    float *d_fields = device_zeros<float>(4 * (size_t)n);

    const int threads = 128, blocks = (n + threads - 1) / threads;
    dipole_field<<<blocks, threads>>>(n, (const float4 *)d_places, (const float4 *)d_moments,
                                      (float4 *)d_fields, softening);
    finish_launches();

    return verdict(sampled_error(from_device(d_fields, 4 * (size_t)n), [&](size_t e) {
        const float *own = places.data() + e / 4 * 4;
        double field[4] = {0.0, 0.0, 0.0, 0.0};
        for (size_t j = 0; j < (size_t)n; j++) {
            if (j == e / 4) continue;
            const float *m = moments.data() + 4 * j, *other = places.data() + 4 * j;
            const double d[3] = {(double)own[0] - other[0], (double)own[1] - other[1],
                                 (double)own[2] - other[2]};
            const double square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + softening;
            const double cube = 1.0 / (square * sqrt(square));
            const double along = 3.0 / square * (m[0] * d[0] + m[1] * d[1] + m[2] * d[2]);
            for (int k = 0; k < 3; k++) field[k] += cube * (along * d[k] - m[k]);
        }
        return field[e % 4];
    }));
}

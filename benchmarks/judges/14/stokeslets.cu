// Slow flow: the velocity that n forces in a viscous fluid give to the n points where they act, by
// regularised Stokeslets, all pairs.
//
//     nvcc -O2 -o stokeslets stokeslets.cu && ./stokeslets 2500

#include "../host.h"

#define EPSILON 0.01f

__global__ void velocities(const float4 *__restrict__ points, const float4 *__restrict__ forces,
                           float4 *__restrict__ out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float4 p = points[i];
    float ux = 0.0f, uy = 0.0f, uz = 0.0f;
    for (int j = 0; j < n; j++) {
        const float4 q = points[j];
        const float4 f = forces[j];
        const float dx = p.x - q.x, dy = p.y - q.y, dz = p.z - q.z;
        const float r2 = dx * dx + dy * dy + dz * dz;
        const float inverse = rsqrtf(r2 + EPSILON * EPSILON);
        const float cube = inverse * inverse * inverse;
        const float along = (f.x * dx + f.y * dy + f.z * dz) * cube;
        const float both = (r2 + 2.0f * EPSILON * EPSILON) * cube;
        ux += f.x * both + along * dx;
        uy += f.y * both + along * dy;
        uz += f.z * both + along * dz;
    }
    out[i] = make_float4(ux, uy, uz, 0.0f);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 256, 1000000);
    const std::vector<float> points = quick_values((size_t)n * 4, 61);
    const std::vector<float> forces = quick_values((size_t)n * 4, 62);
    const float *d_points = to_device(points);
    const float *d_forces = to_device(forces);
    float *d_out = device_zeros<float>((size_t)n * 4);

    const int block = 128;
    velocities<<<(n + block - 1) / block, block>>>((const float4 *)d_points,
                                                   (const float4 *)d_forces, (float4 *)d_out, n);
    finish_launches();

    const std::vector<float> out = from_device(d_out, (size_t)n * 4);
    return verdict(sampled_error(out, [&](size_t e) {
        const size_t i = e / 4, axis = e % 4;
        double u = 0.0;
        if (axis == 3) return u;
        for (int j = 0; j < n; j++) {
            double d[3], r2 = 0.0, dot = 0.0;
            for (int k = 0; k < 3; k++) {
                d[k] = (double)points[4 * i + k] - points[4 * (size_t)j + k];
                r2 += d[k] * d[k];
                dot += d[k] * forces[4 * (size_t)j + k];
            }
            const double e2 = (double)EPSILON * EPSILON, root = sqrt(r2 + e2);
            u += (forces[4 * (size_t)j + axis] * (r2 + 2.0 * e2) + dot * d[axis]) /
                 (root * root * root);
        }
        return u;
    }));
}

// Accelerations of n bodies, with tiles of 128 others in shared memory.
//
//     nvcc -O2 -o nbody_step nbody_step.cu && ./nbody_step 8192

#include "../host.h"

#define BLOCK 128

__global__ void accelerated(const float4 *bodies, float4 *out, int n) {
    __shared__ float4 tile[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    const float4 own = bodies[min(i, n - 1)];
    float3 sum = {0.0f, 0.0f, 0.0f};
    for (int first = 0; first < n; first += BLOCK) {
        tile[t] = first + t < n ? bodies[first + t] : float4{0.0f, 0.0f, 0.0f, 0.0f};
        __syncthreads();
        for (int k = 0; k < BLOCK; k++) {
            const float dx = tile[k].x - own.x, dy = tile[k].y - own.y, dz = tile[k].z - own.z;
            const float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            const float s = tile[k].w * r * r * r;
            sum.x += s * dx;
            sum.y += s * dy;
            sum.z += s * dz;
        }
        __syncthreads();
    }
    if (i < n) out[i] = float4{sum.x, sum.y, sum.z, 0.0f};
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 500000);
    const std::vector<float> bodies = quick_values(4 * (size_t)n, 1923);
    const float *d_bodies = to_device(bodies);
    float *d_out = device_zeros<float>(4 * (size_t)n);

    accelerated<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>((const float4 *)d_bodies, (float4 *)d_out, n);
    finish_launches();

    const std::vector<float> out = from_device(d_out, 4 * (size_t)n);
    double worst = 0.0;
    for (int i = 0; i < n; i += n / 20 + 1) {
        double sum[3] = {}, size = 0.0, off = 0.0;
        for (int k = 0; k < n; k++) {
            double d[3], square = 0.01;
            for (int c = 0; c < 3; c++) {
                d[c] = (double)bodies[4 * (size_t)k + c] - bodies[4 * (size_t)i + c];
                square += d[c] * d[c];
            }
            for (int c = 0; c < 3; c++)
                sum[c] += bodies[4 * (size_t)k + 3] / (square * sqrt(square)) * d[c];
        }
        for (int c = 0; c < 3; c++) {
            size = fmax(size, fabs(sum[c]));
            off = fmax(off, fabs(sum[c] - out[4 * (size_t)i + c]));
        }
        worst = fmax(worst, off / fmax(size, 1e-3 * n));
    }
    return verdict(worst);
}

// The inverses of n matrices of 4 x 4 by Gauss and Jordan, one per thread, with the matrices one
// after the other in memory.
//
//     nvcc -O2 -o batch_invert4 batch_invert4.cu && ./batch_invert4 100000

#include "../judge.h"

#define ORDER 4

// In place; the diagonal is dominant, so that nothing need be exchanged.
__host__ __device__ inline void invert(float (&a)[ORDER][ORDER]) {
#pragma unroll
    for (int k = 0; k < ORDER; k++) {
        const float pivot = 1.0f / a[k][k];
        a[k][k] = 1.0f;
#pragma unroll
        for (int j = 0; j < ORDER; j++) a[k][j] *= pivot;
#pragma unroll
        for (int i = 0; i < ORDER; i++) {
            if (i == k) continue;
            const float factor = a[i][k];
            a[i][k] = 0.0f;
#pragma unroll
            for (int j = 0; j < ORDER; j++) a[i][j] -= factor * a[k][j];
        }
    }
}

__global__ void batch_invert4(int n, const float4 *matrices, float4 *inverses) {
    const int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= n) return;
    float a[ORDER][ORDER];
#pragma unroll
    for (int i = 0; i < ORDER; i++) {
        const float4 row = matrices[m * ORDER + i];
        a[i][0] = row.x;
        a[i][1] = row.y;
        a[i][2] = row.z;
        a[i][3] = row.w;
    }
    invert(a);
#pragma unroll
    for (int i = 0; i < ORDER; i++)
        inverses[m * ORDER + i] = make_float4(a[i][0], a[i][1], a[i][2], a[i][3]);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 2000, 1 << 25);
    const size_t per_matrix = ORDER * ORDER, count = per_matrix * n;
    std::vector<float> matrices = fixed_values(count, 1);
    for (size_t e = 0; e < count; e++)
        if (e % per_matrix % (ORDER + 1) == 0) matrices[e] += 4.0f;
    const float *device_matrices = to_device(matrices);
    float *device_inverses = to_device(std::vector<float>(count));

    const int threads = 128;
    batch_invert4<<<(n + threads - 1) / threads, threads>>>(n, (const float4 *)device_matrices,
                                                            (float4 *)device_inverses);
    finish_launches();

    return verdict(sampled_error(from_device(device_inverses, count), [&](size_t e) {
        float a[ORDER][ORDER];
        const size_t first = e / per_matrix * per_matrix, place = e % per_matrix;
        for (size_t i = 0; i < per_matrix; i++) a[i / ORDER][i % ORDER] = matrices[first + i];
        invert(a);
        return a[place / ORDER][place % ORDER];
    }));
}

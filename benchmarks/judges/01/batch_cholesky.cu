// Cholesky factors of many 6 x 6 matrices, one thread per matrix, which it keeps in registers.
//
//     nvcc -O2 -o batch_cholesky batch_cholesky.cu && ./batch_cholesky 10000

#include "../judge.h"

#define ORDER 6

__host__ __device__ inline void factor(const float *matrix, float *result) {
    float l[ORDER][ORDER];
#pragma unroll
    for (int i = 0; i < ORDER; i++) {
#pragma unroll
        for (int j = 0; j <= i; j++) {
            float sum = matrix[i * ORDER + j];
#pragma unroll
            for (int k = 0; k < j; k++) sum -= l[i][k] * l[j][k];
            l[i][j] = i == j ? sqrtf(sum) : sum / l[j][j];
        }
    }
#pragma unroll
    for (int i = 0; i < ORDER; i++) {
#pragma unroll
        for (int j = 0; j < ORDER; j++) result[i * ORDER + j] = j <= i ? l[i][j] : 0.0f;
    }
}

__global__ void batch_cholesky(int n, const float *matrices, float *factors) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) factor(matrices + i * ORDER * ORDER, factors + i * ORDER * ORDER);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 2000, 1 << 24);
    const size_t count = (size_t)n * ORDER * ORDER;
    std::vector<float> matrices = fixed_values(count, 1);
    for (size_t e = 0; e < count; e++)
        if (e % (ORDER * ORDER) % (ORDER + 1) == 0) matrices[e] += ORDER;
    float *device_matrices = to_device(matrices);
    float *device_factors = to_device(std::vector<float>(count));

    const unsigned block = 256;
    batch_cholesky<<<blocks_for(n, block), block>>>(n, device_matrices, device_factors);
    finish_launches();

    return verdict(sampled_error(from_device(device_factors, count), [&](size_t e) {
        const size_t matrix = e / (ORDER * ORDER) * (ORDER * ORDER);
        float result[ORDER * ORDER];
        factor(&matrices[matrix], result);
        return result[e - matrix];
    }));
}

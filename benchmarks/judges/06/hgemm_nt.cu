// C = A B^T of matrices in half precision with n rows of 384 numbers, read two at a time, as a
// layer of a neural network has them. Sums are kept in single precision.
//
//     nvcc -O2 -o hgemm_nt hgemm_nt.cu && ./hgemm_nt 1000

#include <cuda_fp16.h>

#include "../host.h"

constexpr int DEPTH = 384;

__global__ void hgemm_nt(int M, int N, int K, const __half2 *A, const __half2 *B, __half *C) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || col >= N) return;
    const int pairs = K / 2;
    float sum = 0.0f;
    for (int k = 0; k < pairs; k++) {
        const float2 a = __half22float2(A[row * pairs + k]);
        const float2 b = __half22float2(B[col * pairs + k]);
        sum += a.x * b.x + a.y * b.y;
    }
    C[row * N + col] = __float2half(sum);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 50);
    const size_t count = (size_t)n * n;
    const std::vector<float> numbers = quick_values(2 * (size_t)n * DEPTH, 1);
    std::vector<__half> A(numbers.size() / 2), B(numbers.size() / 2);
    for (size_t e = 0; e < A.size(); e++) {
        A[e] = __float2half(numbers[2 * e] - 0.25f);
        B[e] = __float2half(numbers[2 * e + 1] - 0.25f);
    }
    const __half2 *d_A = (const __half2 *)to_device(A), *d_B = (const __half2 *)to_device(B);
    __half *d_C = device_zeros<__half>(count);

    dim3 block(16, 16);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    hgemm_nt<<<grid, block>>>(n, n, DEPTH, d_A, d_B, d_C);
    finish_launches();

    // The result has 11 bits: a difference of one in the last is no error.
    const std::vector<__half> C = from_device(d_C, count);
    std::vector<float> beyond(count > 1000 ? 1000 : count);
    for (size_t s = 0; s < beyond.size(); s++) {
        const size_t e = s * (count / beyond.size()), row = e / n, col = e % n;
        float sum = 0.0f;
        for (int k = 0; k < DEPTH; k++)
            sum += __half2float(A[row * DEPTH + k]) * __half2float(B[col * DEPTH + k]);
        beyond[s] = fmaxf(fabsf(__half2float(C[e]) - sum) / fabsf(sum) - 0.001f, 0.0f);
    }
    return verdict(sampled_error(beyond, [](size_t) { return 0.0f; }));
}

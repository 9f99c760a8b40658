// SYR2K: the symmetric rank-2k update C = alpha (A B^T + B A^T) + beta C.
// A and B are NI x NJ, C is NI x NI; one thread per element of C, the upper half included.
// After PolyBench/GPU; kernel 12 of Table 1.
//
//     nvcc -O2 -o syr2k syr2k.cu && ./syr2k 512

#include "polybench.h"

__global__ void syr2k_kernel(int NI, int NJ, float alpha, float beta, float *A, float *B,
                             float *C) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;

    if (i < NI && j < NI) {
        C[i * NI + j] *= beta;
        for (int k = 0; k < NJ; k++) {
            C[i * NI + j] += alpha * A[i * NJ + k] * B[j * NJ + k] +
                             alpha * B[i * NJ + k] * A[j * NJ + k];
        }
    }
}

void syr2k_on_device(int NI, int NJ, float alpha, float beta, const std::vector<float> &A,
                     const std::vector<float> &B, std::vector<float> &C) {
    float *device_A = upload(A);
    float *device_B = upload(B);
    float *device_C = upload(C);

    dim3 block(32, 8);
    dim3 grid((NI + block.x - 1) / block.x, (NI + block.y - 1) / block.y);
    syr2k_kernel<<<grid, block>>>(NI, NJ, alpha, beta, device_A, device_B, device_C);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());

    download(C, device_C);
    CHECK(cudaFree(device_A));
    CHECK(cudaFree(device_B));
    CHECK(cudaFree(device_C));
}

void syr2k_on_host(int NI, int NJ, float alpha, float beta, const std::vector<float> &A,
                   const std::vector<float> &B, std::vector<float> &C) {
    for (int i = 0; i < NI; i++) {
        for (int j = 0; j < NI; j++) {
            C[i * NI + j] *= beta;
            for (int k = 0; k < NJ; k++) {
                C[i * NI + j] += alpha * A[i * NJ + k] * B[j * NJ + k] +
                                 alpha * B[i * NJ + k] * A[j * NJ + k];
            }
        }
    }
}

int main(int argc, char **argv) {
    const int N = size_argument(argc, argv, 128);
    const float alpha = 1.5f, beta = 0.8f;

    const std::vector<float> A = fixed_values((size_t)N * N, 1);
    const std::vector<float> B = fixed_values((size_t)N * N, 2);
    std::vector<float> C = fixed_values((size_t)N * N, 3);
    std::vector<float> expected_C = C;

    syr2k_on_device(N, N, alpha, beta, A, B, C);
    syr2k_on_host(N, N, alpha, beta, A, B, expected_C);
    return verdict(relative_error(C, expected_C));
}

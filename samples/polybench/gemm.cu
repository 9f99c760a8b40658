// GEMM: C = alpha A B + beta C.
// A is NI x NK, B is NK x NJ, C is NI x NJ; one thread per element of C.
// After PolyBench/GPU; kernel 6 of Table 1.
//
//     nvcc -O2 -o gemm gemm.cu && ./gemm 512

#include "polybench.h"

__global__ void gemm_kernel(int NI, int NJ, int NK, float alpha, float beta, float *A, float *B,
                            float *C) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;

    if (i < NI && j < NJ) {
        C[i * NJ + j] *= beta;
        for (int k = 0; k < NK; k++) {
            C[i * NJ + j] += alpha * A[i * NK + k] * B[k * NJ + j];
        }
    }
}

void gemm_on_device(int NI, int NJ, int NK, float alpha, float beta, const std::vector<float> &A,
                    const std::vector<float> &B, std::vector<float> &C) {
    float *device_A = upload(A);
    float *device_B = upload(B);
    float *device_C = upload(C);

    dim3 block(32, 8);
    dim3 grid((NJ + block.x - 1) / block.x, (NI + block.y - 1) / block.y);
    gemm_kernel<<<grid, block>>>(NI, NJ, NK, alpha, beta, device_A, device_B, device_C);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());

    download(C, device_C);
    CHECK(cudaFree(device_A));
    CHECK(cudaFree(device_B));
    CHECK(cudaFree(device_C));
}

// The loop over j is innermost for the cache's sake; each element's sum keeps its order.
void gemm_on_host(int NI, int NJ, int NK, float alpha, float beta, const std::vector<float> &A,
                  const std::vector<float> &B, std::vector<float> &C) {
    for (int i = 0; i < NI; i++) {
        for (int j = 0; j < NJ; j++) C[i * NJ + j] *= beta;
        for (int k = 0; k < NK; k++) {
            for (int j = 0; j < NJ; j++) C[i * NJ + j] += alpha * A[i * NK + k] * B[k * NJ + j];
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

    gemm_on_device(N, N, N, alpha, beta, A, B, C);
    gemm_on_host(N, N, N, alpha, beta, A, B, expected_C);
    return verdict(relative_error(C, expected_C));
}

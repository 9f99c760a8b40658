// 2MM: two matrix products, C = A B and E = C D.
// A is NI x NK, B is NK x NJ, D is NJ x NL; one thread per element of the product.
// After PolyBench/GPU; mm2_kernel1 is kernel 3 of Table 1.
//
//     nvcc -O2 -o 2mm 2mm.cu && ./2mm 512

#include "polybench.h"

__global__ void mm2_kernel1(int NI, int NJ, int NK, float *A, float *B, float *C) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;

    if (i < NI && j < NJ) {
        C[i * NJ + j] = 0.0f;
        for (int k = 0; k < NK; k++) {
            C[i * NJ + j] += A[i * NK + k] * B[k * NJ + j];
        }
    }
}

__global__ void mm2_kernel2(int NI, int NJ, int NL, float *C, float *D, float *E) {
    int l = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;

    if (i < NI && l < NL) {
        E[i * NL + l] = 0.0f;
        for (int j = 0; j < NJ; j++) {
            E[i * NL + l] += C[i * NJ + j] * D[j * NL + l];
        }
    }
}

void mm2_on_device(int NI, int NJ, int NK, int NL, const std::vector<float> &A,
                   const std::vector<float> &B, const std::vector<float> &D,
                   std::vector<float> &E) {
    float *device_A = upload(A);
    float *device_B = upload(B);
    float *device_C = upload(std::vector<float>((size_t)NI * NJ));
    float *device_D = upload(D);
    float *device_E = upload(E);

    dim3 block(32, 8);
    dim3 grid1((NJ + block.x - 1) / block.x, (NI + block.y - 1) / block.y);
    dim3 grid2((NL + block.x - 1) / block.x, (NI + block.y - 1) / block.y);
    mm2_kernel1<<<grid1, block>>>(NI, NJ, NK, device_A, device_B, device_C);
    CHECK(cudaGetLastError());
    mm2_kernel2<<<grid2, block>>>(NI, NJ, NL, device_C, device_D, device_E);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());

    download(E, device_E);
    CHECK(cudaFree(device_A));
    CHECK(cudaFree(device_B));
    CHECK(cudaFree(device_C));
    CHECK(cudaFree(device_D));
    CHECK(cudaFree(device_E));
}

// The product of X (rows x inner) and Y (inner x columns). The loop over j is innermost for the
// cache's sake; each element's sum keeps its order.
std::vector<float> multiply_on_host(int rows, int columns, int inner, const std::vector<float> &X,
                                    const std::vector<float> &Y) {
    std::vector<float> product((size_t)rows * columns);
    for (int i = 0; i < rows; i++) {
        for (int k = 0; k < inner; k++) {
            for (int j = 0; j < columns; j++) {
                product[i * columns + j] += X[i * inner + k] * Y[k * columns + j];
            }
        }
    }
    return product;
}

int main(int argc, char **argv) {
    const int N = size_argument(argc, argv, 128);

    const std::vector<float> A = fixed_values((size_t)N * N, 1);
    const std::vector<float> B = fixed_values((size_t)N * N, 2);
    const std::vector<float> D = fixed_values((size_t)N * N, 3);
    std::vector<float> E((size_t)N * N);

    mm2_on_device(N, N, N, N, A, B, D, E);
    const std::vector<float> C = multiply_on_host(N, N, N, A, B);
    const std::vector<float> expected_E = multiply_on_host(N, N, N, C, D);
    return verdict(relative_error(E, expected_E));
}

// 3MM: three matrix products, E = A B, F = C D and G = E F.
// A is NI x NK, B is NK x NJ, C is NJ x NM, D is NM x NL; one thread per element of the product.
// After PolyBench/GPU; mm3_kernel1 is kernel 4 of Table 1.
//
//     nvcc -O2 -o 3mm 3mm.cu && ./3mm 512

#include "polybench.h"

__global__ void mm3_kernel1(int NI, int NJ, int NK, float *A, float *B, float *E) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;

    if (i < NI && j < NJ) {
        E[i * NJ + j] = 0.0f;
        for (int k = 0; k < NK; k++) {
            E[i * NJ + j] += A[i * NK + k] * B[k * NJ + j];
        }
    }
}

__global__ void mm3_kernel2(int NJ, int NL, int NM, float *C, float *D, float *F) {
    int l = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;

    if (j < NJ && l < NL) {
        F[j * NL + l] = 0.0f;
        for (int m = 0; m < NM; m++) {
            F[j * NL + l] += C[j * NM + m] * D[m * NL + l];
        }
    }
}

__global__ void mm3_kernel3(int NI, int NJ, int NL, float *E, float *F, float *G) {
    int l = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;

    if (i < NI && l < NL) {
        G[i * NL + l] = 0.0f;
        for (int j = 0; j < NJ; j++) {
            G[i * NL + l] += E[i * NJ + j] * F[j * NL + l];
        }
    }
}

void mm3_on_device(int NI, int NJ, int NK, int NL, int NM, const std::vector<float> &A,
                   const std::vector<float> &B, const std::vector<float> &C,
                   const std::vector<float> &D, std::vector<float> &G) {
    float *device_A = upload(A);
    float *device_B = upload(B);
    float *device_C = upload(C);
    float *device_D = upload(D);
    float *device_E = upload(std::vector<float>((size_t)NI * NJ));
    float *device_F = upload(std::vector<float>((size_t)NJ * NL));
    float *device_G = upload(G);

    dim3 block(32, 8);
    dim3 grid1((NJ + block.x - 1) / block.x, (NI + block.y - 1) / block.y);
    dim3 grid2((NL + block.x - 1) / block.x, (NJ + block.y - 1) / block.y);
    dim3 grid3((NL + block.x - 1) / block.x, (NI + block.y - 1) / block.y);
    mm3_kernel1<<<grid1, block>>>(NI, NJ, NK, device_A, device_B, device_E);
    CHECK(cudaGetLastError());
    mm3_kernel2<<<grid2, block>>>(NJ, NL, NM, device_C, device_D, device_F);
    CHECK(cudaGetLastError());
    mm3_kernel3<<<grid3, block>>>(NI, NJ, NL, device_E, device_F, device_G);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());

    download(G, device_G);
    CHECK(cudaFree(device_A));
    CHECK(cudaFree(device_B));
    CHECK(cudaFree(device_C));
    CHECK(cudaFree(device_D));
    CHECK(cudaFree(device_E));
    CHECK(cudaFree(device_F));
    CHECK(cudaFree(device_G));
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
    const std::vector<float> C = fixed_values((size_t)N * N, 3);
    const std::vector<float> D = fixed_values((size_t)N * N, 4);
    std::vector<float> G((size_t)N * N);

    mm3_on_device(N, N, N, N, N, A, B, C, D, G);
    const std::vector<float> E = multiply_on_host(N, N, N, A, B);
    const std::vector<float> F = multiply_on_host(N, N, N, C, D);
    const std::vector<float> expected_G = multiply_on_host(N, N, N, E, F);
    return verdict(relative_error(G, expected_G));
}

// ATAX: y = A^T (A x), by way of tmp = A x.
// A is NX x NY; one thread per element of tmp, then one per element of y.
// After PolyBench/GPU; kernels 8.1 and 8.2 of Table 1.
//
//     nvcc -O2 -o atax atax.cu && ./atax 512

#include "polybench.h"

__global__ void atax_kernel1(int NX, int NY, float *A, float *x, float *tmp) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < NX) {
        tmp[i] = 0.0f;
        for (int j = 0; j < NY; j++) {
            tmp[i] += A[i * NY + j] * x[j];
        }
    }
}

__global__ void atax_kernel2(int NX, int NY, float *A, float *y, float *tmp) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;

    if (j < NY) {
        y[j] = 0.0f;
        for (int i = 0; i < NX; i++) {
            y[j] += A[i * NY + j] * tmp[i];
        }
    }
}

void atax_on_device(int NX, int NY, const std::vector<float> &A, const std::vector<float> &x,
                    std::vector<float> &y) {
    float *device_A = upload(A);
    float *device_x = upload(x);
    float *device_y = upload(y);
    float *device_tmp = upload(std::vector<float>(NX));

    dim3 block(256);
    dim3 grid1((NX + block.x - 1) / block.x);
    dim3 grid2((NY + block.x - 1) / block.x);
    atax_kernel1<<<grid1, block>>>(NX, NY, device_A, device_x, device_tmp);
    CHECK(cudaGetLastError());
    atax_kernel2<<<grid2, block>>>(NX, NY, device_A, device_y, device_tmp);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());

    download(y, device_y);
    CHECK(cudaFree(device_A));
    CHECK(cudaFree(device_x));
    CHECK(cudaFree(device_y));
    CHECK(cudaFree(device_tmp));
}

void atax_on_host(int NX, int NY, const std::vector<float> &A, const std::vector<float> &x,
                  std::vector<float> &y) {
    for (int j = 0; j < NY; j++) y[j] = 0.0f;
    for (int i = 0; i < NX; i++) {
        float tmp = 0.0f;
        for (int j = 0; j < NY; j++) tmp += A[i * NY + j] * x[j];
        for (int j = 0; j < NY; j++) y[j] += A[i * NY + j] * tmp;
    }
}

int main(int argc, char **argv) {
    const int N = size_argument(argc, argv, 128);

    const std::vector<float> A = fixed_values((size_t)N * N, 1);
    const std::vector<float> x = fixed_values(N, 2);
    std::vector<float> y(N);
    std::vector<float> expected_y = y;

    atax_on_device(N, N, A, x, y);
    atax_on_host(N, N, A, x, expected_y);
    return verdict(relative_error(y, expected_y));
}

// MVT: two matrix-vector products, x1 = x1 + A y1 and x2 = x2 + A^T y2.
// A is N x N; one thread per element of x1, then one per element of x2.
// After PolyBench/GPU; kernels 11.1 and 11.2 of Table 1.
//
//     nvcc -O2 -o mvt mvt.cu && ./mvt 512

#include "polybench.h"

__global__ void mvt_kernel1(int N, float *A, float *x1, float *y1) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < N) {
        for (int j = 0; j < N; j++) {
            x1[i] += A[i * N + j] * y1[j];
        }
    }
}

__global__ void mvt_kernel2(int N, float *A, float *x2, float *y2) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < N) {
        for (int j = 0; j < N; j++) {
            x2[i] += A[j * N + i] * y2[j];
        }
    }
}

void mvt_on_device(int N, const std::vector<float> &A, std::vector<float> &x1,
                   std::vector<float> &x2, const std::vector<float> &y1,
                   const std::vector<float> &y2) {
    float *device_A = upload(A);
    float *device_x1 = upload(x1);
    float *device_x2 = upload(x2);
    float *device_y1 = upload(y1);
    float *device_y2 = upload(y2);

    dim3 block(256);
    dim3 grid((N + block.x - 1) / block.x);
    mvt_kernel1<<<grid, block>>>(N, device_A, device_x1, device_y1);
    CHECK(cudaGetLastError());
    mvt_kernel2<<<grid, block>>>(N, device_A, device_x2, device_y2);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());

    download(x1, device_x1);
    download(x2, device_x2);
    CHECK(cudaFree(device_A));
    CHECK(cudaFree(device_x1));
    CHECK(cudaFree(device_x2));
    CHECK(cudaFree(device_y1));
    CHECK(cudaFree(device_y2));
}

void mvt_on_host(int N, const std::vector<float> &A, std::vector<float> &x1,
                 std::vector<float> &x2, const std::vector<float> &y1,
                 const std::vector<float> &y2) {
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            x1[i] += A[i * N + j] * y1[j];
            x2[j] += A[i * N + j] * y2[i];
        }
    }
}

int main(int argc, char **argv) {
    const int N = size_argument(argc, argv, 128);

    const std::vector<float> A = fixed_values((size_t)N * N, 1);
    const std::vector<float> y1 = fixed_values(N, 2);
    const std::vector<float> y2 = fixed_values(N, 3);
    std::vector<float> x1 = fixed_values(N, 4);
    std::vector<float> x2 = fixed_values(N, 5);
    std::vector<float> expected_x1 = x1, expected_x2 = x2;

    mvt_on_device(N, A, x1, x2, y1, y2);
    mvt_on_host(N, A, expected_x1, expected_x2, y1, y2);
    return verdict(fmax(relative_error(x1, expected_x1), relative_error(x2, expected_x2)));
}

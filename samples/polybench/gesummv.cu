// GESUMMV: the sum of two matrix-vector products, y = alpha A x + beta B x.
// A and B are N x N; one thread per element of y.
// After PolyBench/GPU; kernel 9 of Table 1.
//
//     nvcc -O2 -o gesummv gesummv.cu && ./gesummv 512

#include "polybench.h"

__global__ void gesummv_kernel(int N, float alpha, float beta, float *A, float *B, float *tmp,
                               float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < N) {
        tmp[i] = 0.0f;
        y[i] = 0.0f;
        for (int j = 0; j < N; j++) {
            tmp[i] += A[i * N + j] * x[j];
            y[i] += B[i * N + j] * x[j];
        }
        y[i] = alpha * tmp[i] + beta * y[i];
    }
}

void gesummv_on_device(int N, float alpha, float beta, const std::vector<float> &A,
                       const std::vector<float> &B, const std::vector<float> &x,
                       std::vector<float> &y) {
    float *device_A = upload(A);
    float *device_B = upload(B);
    float *device_tmp = upload(std::vector<float>(N));
    float *device_x = upload(x);
    float *device_y = upload(y);

    dim3 block(256);
    dim3 grid((N + block.x - 1) / block.x);
    gesummv_kernel<<<grid, block>>>(N, alpha, beta, device_A, device_B, device_tmp, device_x,
                                    device_y);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());

    download(y, device_y);
    CHECK(cudaFree(device_A));
    CHECK(cudaFree(device_B));
    CHECK(cudaFree(device_tmp));
    CHECK(cudaFree(device_x));
    CHECK(cudaFree(device_y));
}

void gesummv_on_host(int N, float alpha, float beta, const std::vector<float> &A,
                     const std::vector<float> &B, const std::vector<float> &x,
                     std::vector<float> &y) {
    for (int i = 0; i < N; i++) {
        float sum_A = 0.0f, sum_B = 0.0f;
        for (int j = 0; j < N; j++) {
            sum_A += A[i * N + j] * x[j];
            sum_B += B[i * N + j] * x[j];
        }
        y[i] = alpha * sum_A + beta * sum_B;
    }
}

int main(int argc, char **argv) {
    const int N = size_argument(argc, argv, 128);
    const float alpha = 1.5f, beta = 0.8f;

    const std::vector<float> A = fixed_values((size_t)N * N, 1);
    const std::vector<float> B = fixed_values((size_t)N * N, 2);
    const std::vector<float> x = fixed_values(N, 3);
    std::vector<float> y(N);
    std::vector<float> expected_y = y;

    gesummv_on_device(N, alpha, beta, A, B, x, y);
    gesummv_on_host(N, alpha, beta, A, B, x, expected_y);
    return verdict(relative_error(y, expected_y));
}

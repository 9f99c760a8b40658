// 2DCONV: a 3 x 3 convolution B of the image A.
// Both are NI x NJ; one thread per pixel. The border of B stays as it was.
// After PolyBench/GPU; kernel 1 of Table 1.
//
//     nvcc -O2 -o 2dconv 2dconv.cu && ./2dconv 512

#include "polybench.h"

__global__ void Convolution2D_kernel(int NI, int NJ, float *A, float *B) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;

    const float c11 = 0.2f, c12 = -0.3f, c13 = 0.4f;
    const float c21 = 0.5f, c22 = 0.6f, c23 = 0.7f;
    const float c31 = -0.8f, c32 = -0.9f, c33 = 0.1f;

    if (i > 0 && i < NI - 1 && j > 0 && j < NJ - 1) {
        B[i * NJ + j] = c11 * A[(i - 1) * NJ + (j - 1)] + c12 * A[(i - 1) * NJ + j] +
                        c13 * A[(i - 1) * NJ + (j + 1)] + c21 * A[i * NJ + (j - 1)] +
                        c22 * A[i * NJ + j] + c23 * A[i * NJ + (j + 1)] +
                        c31 * A[(i + 1) * NJ + (j - 1)] + c32 * A[(i + 1) * NJ + j] +
                        c33 * A[(i + 1) * NJ + (j + 1)];
    }
}

void convolve_on_device(int NI, int NJ, const std::vector<float> &A, std::vector<float> &B) {
    float *device_A = upload(A);
    float *device_B = upload(B);

    dim3 block(32, 8);
    dim3 grid((NJ + block.x - 1) / block.x, (NI + block.y - 1) / block.y);
    Convolution2D_kernel<<<grid, block>>>(NI, NJ, device_A, device_B);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());

    download(B, device_B);
    CHECK(cudaFree(device_A));
    CHECK(cudaFree(device_B));
}

void convolve_on_host(int NI, int NJ, const std::vector<float> &A, std::vector<float> &B) {
    const float c[3][3] = {{0.2f, -0.3f, 0.4f}, {0.5f, 0.6f, 0.7f}, {-0.8f, -0.9f, 0.1f}};

    for (int i = 1; i < NI - 1; i++) {
        for (int j = 1; j < NJ - 1; j++) {
            float sum = 0.0f;
            for (int di = -1; di <= 1; di++) {
                for (int dj = -1; dj <= 1; dj++) {
                    sum += c[di + 1][dj + 1] * A[(i + di) * NJ + (j + dj)];
                }
            }
            B[i * NJ + j] = sum;
        }
    }
}

int main(int argc, char **argv) {
    const int N = size_argument(argc, argv, 128);

    const std::vector<float> A = fixed_values((size_t)N * N, 1);
    std::vector<float> B((size_t)N * N);
    std::vector<float> expected_B = B;

    convolve_on_device(N, N, A, B);
    convolve_on_host(N, N, A, expected_B);
    return verdict(relative_error(B, expected_B));
}

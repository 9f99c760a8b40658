// 3DCONV: a 15-point convolution B of the volume A.
// Both are NI x NJ x NK. The host walks over the planes i and launches one kernel for each, with
// one thread per point (j, k) of the plane. The border of B stays as it was.
// After PolyBench/GPU; kernel 7 of Table 1.
//
//     nvcc -O2 -o 3dconv 3dconv.cu && ./3dconv 128

#include "polybench.h"

__global__ void convolution3D_kernel(int NI, int NJ, int NK, float *A, float *B, int i) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;

    const float c11 = 0.2f, c12 = -0.3f, c13 = 0.4f;
    const float c21 = 0.5f, c22 = 0.6f, c23 = 0.7f;
    const float c31 = -0.8f, c32 = -0.9f, c33 = 0.1f;

    int above = (i - 1) * NJ * NK;
    int here = i * NJ * NK;
    int below = (i + 1) * NJ * NK;

    if (i > 0 && i < NI - 1 && j > 0 && j < NJ - 1 && k > 0 && k < NK - 1) {
        B[here + j * NK + k] =
            c11 * A[above + (j - 1) * NK + (k - 1)] + c13 * A[below + (j - 1) * NK + (k - 1)] +
            c21 * A[above + j * NK + (k - 1)] + c23 * A[below + j * NK + (k - 1)] +
            c31 * A[above + (j + 1) * NK + (k - 1)] + c33 * A[below + (j + 1) * NK + (k - 1)] +
            c12 * A[here + (j - 1) * NK + k] + c22 * A[here + j * NK + k] +
            c32 * A[here + (j + 1) * NK + k] +
            c11 * A[above + (j - 1) * NK + (k + 1)] + c13 * A[below + (j - 1) * NK + (k + 1)] +
            c21 * A[above + j * NK + (k + 1)] + c23 * A[below + j * NK + (k + 1)] +
            c31 * A[above + (j + 1) * NK + (k + 1)] + c33 * A[below + (j + 1) * NK + (k + 1)];
    }
}

void convolve_on_device(int NI, int NJ, int NK, const std::vector<float> &A,
                        std::vector<float> &B) {
    float *device_A = upload(A);
    float *device_B = upload(B);

    dim3 block(32, 8);
    dim3 grid((NK + block.x - 1) / block.x, (NJ + block.y - 1) / block.y);
    for (int i = 1; i < NI - 1; i++) {
        convolution3D_kernel<<<grid, block>>>(NI, NJ, NK, device_A, device_B, i);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaDeviceSynchronize());

    download(B, device_B);
    CHECK(cudaFree(device_A));
    CHECK(cudaFree(device_B));
}

void convolve_on_host(int NI, int NJ, int NK, const std::vector<float> &A,
                      std::vector<float> &B) {
    const float c[3][3] = {{0.2f, -0.3f, 0.4f}, {0.5f, 0.6f, 0.7f}, {-0.8f, -0.9f, 0.1f}};

    for (int i = 1; i < NI - 1; i++) {
        for (int j = 1; j < NJ - 1; j++) {
            for (int k = 1; k < NK - 1; k++) {
                float sum = 0.0f;
                for (int dk = -1; dk <= 1; dk++) {
                    for (int dj = -1; dj <= 1; dj++) {
                        // Plane i has its taps at k, the planes above and below at k - 1 and k + 1.
                        for (int di = -1; di <= 1; di++) {
                            if ((di == 0) != (dk == 0)) continue;
                            sum += c[dj + 1][di + 1] * A[((i + di) * NJ + j + dj) * NK + k + dk];
                        }
                    }
                }
                B[(i * NJ + j) * NK + k] = sum;
            }
        }
    }
}

int main(int argc, char **argv) {
    const int N = size_argument(argc, argv, 64, 1024);

    const std::vector<float> A = fixed_values((size_t)N * N * N, 1);
    std::vector<float> B((size_t)N * N * N);
    std::vector<float> expected_B = B;

    convolve_on_device(N, N, N, A, B);
    convolve_on_host(N, N, N, A, expected_B);
    return verdict(relative_error(B, expected_B));
}

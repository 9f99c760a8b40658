// GRAMSCHM: the QR decomposition A = Q R by the modified Gram-Schmidt process.
// A and Q are NI x NJ, R is NJ x NJ. For each column k three kernels run: the norm of the column
// (one thread of one block), the unit vector (one thread per row), and its removal from the
// columns to the right (one thread per column).
// After PolyBench/GPU; kernels 15.1 to 15.3 of Table 1.
//
//     nvcc -O2 -o gramschm gramschm.cu && ./gramschm 512

#include "polybench.h"

__global__ void gramschmidt_kernel1(int NI, int NJ, float *A, float *R, int k) {
    int tid = blockIdx.x * blockDim.x + threadIdx.x;

    if (tid == 0) {
        float norm = 0.0f;
        for (int i = 0; i < NI; i++) {
            norm += A[i * NJ + k] * A[i * NJ + k];
        }
        R[k * NJ + k] = sqrtf(norm);
    }
}

__global__ void gramschmidt_kernel2(int NI, int NJ, float *A, float *R, float *Q, int k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < NI) {
        Q[i * NJ + k] = A[i * NJ + k] / R[k * NJ + k];
    }
}

__global__ void gramschmidt_kernel3(int NI, int NJ, float *A, float *R, float *Q, int k) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;

    if (j > k && j < NJ) {
        R[k * NJ + j] = 0.0f;
        for (int i = 0; i < NI; i++) {
            R[k * NJ + j] += Q[i * NJ + k] * A[i * NJ + j];
        }
        for (int i = 0; i < NI; i++) {
            A[i * NJ + j] -= Q[i * NJ + k] * R[k * NJ + j];
        }
    }
}

void gramschmidt_on_device(int NI, int NJ, const std::vector<float> &A, std::vector<float> &R,
                           std::vector<float> &Q) {
    float *device_A = upload(A);
    float *device_R = upload(R);
    float *device_Q = upload(Q);

    dim3 block(256);
    dim3 grid1(1);
    dim3 grid2((NI + block.x - 1) / block.x);
    dim3 grid3((NJ + block.x - 1) / block.x);
    for (int k = 0; k < NJ; k++) {
        gramschmidt_kernel1<<<grid1, block>>>(NI, NJ, device_A, device_R, k);
        CHECK(cudaGetLastError());
        gramschmidt_kernel2<<<grid2, block>>>(NI, NJ, device_A, device_R, device_Q, k);
        CHECK(cudaGetLastError());
        gramschmidt_kernel3<<<grid3, block>>>(NI, NJ, device_A, device_R, device_Q, k);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaDeviceSynchronize());

    download(R, device_R);
    download(Q, device_Q);
    CHECK(cudaFree(device_A));
    CHECK(cudaFree(device_R));
    CHECK(cudaFree(device_Q));
}

// The loops over columns are innermost for the cache's sake; each sum keeps its order.
void gramschmidt_on_host(int NI, int NJ, std::vector<float> A, std::vector<float> &R,
                         std::vector<float> &Q) {
    for (int k = 0; k < NJ; k++) {
        float norm = 0.0f;
        for (int i = 0; i < NI; i++) norm += A[i * NJ + k] * A[i * NJ + k];
        R[k * NJ + k] = sqrtf(norm);

        for (int i = 0; i < NI; i++) Q[i * NJ + k] = A[i * NJ + k] / R[k * NJ + k];

        for (int i = 0; i < NI; i++) {
            for (int j = k + 1; j < NJ; j++) R[k * NJ + j] += Q[i * NJ + k] * A[i * NJ + j];
        }
        for (int i = 0; i < NI; i++) {
            for (int j = k + 1; j < NJ; j++) A[i * NJ + j] -= Q[i * NJ + k] * R[k * NJ + j];
        }
    }
}

// A well-conditioned matrix, since Gram-Schmidt multiplies rounding errors by the condition
// number. Random entries of mean zero have singular values up to 0.6 sqrt(N); the diagonal
// sqrt(N) keeps all of them away from zero.
std::vector<float> initial_matrix(int N) {
    std::vector<float> A = fixed_values((size_t)N * N, 1);
    for (float &value : A) value -= 0.5f;
    for (int i = 0; i < N; i++) A[i * N + i] += sqrtf((float)N);
    return A;
}

int main(int argc, char **argv) {
    const int N = size_argument(argc, argv, 128);

    const std::vector<float> A = initial_matrix(N);
    std::vector<float> R((size_t)N * N), Q((size_t)N * N);
    std::vector<float> expected_R = R, expected_Q = Q;

    gramschmidt_on_device(N, N, A, R, Q);
    gramschmidt_on_host(N, N, A, expected_R, expected_Q);
    return verdict(fmax(relative_error(R, expected_R), relative_error(Q, expected_Q)));
}

// BICG: the two products of a BiCGStab step, s = A^T r and q = A p.
// A is NX x NY; one thread per element of s, then one per element of q.
// After PolyBench/GPU; kernels 5.1 and 5.2 of Table 1.
//
//     nvcc -O2 -o bicg bicg.cu && ./bicg 512

#include "polybench.h"

__global__ void bicg_kernel1(int NX, int NY, float *A, float *r, float *s) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;

    if (j < NY) {
        s[j] = 0.0f;
        for (int i = 0; i < NX; i++) {
            s[j] += r[i] * A[i * NY + j];
        }
    }
}

__global__ void bicg_kernel2(int NX, int NY, float *A, float *p, float *q) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < NX) {
        q[i] = 0.0f;
        for (int j = 0; j < NY; j++) {
            q[i] += A[i * NY + j] * p[j];
        }
    }
}

void bicg_on_device(int NX, int NY, const std::vector<float> &A, const std::vector<float> &r,
                    const std::vector<float> &p, std::vector<float> &s, std::vector<float> &q) {
    float *device_A = upload(A);
    float *device_r = upload(r);
    float *device_p = upload(p);
    float *device_s = upload(s);
    float *device_q = upload(q);

    dim3 block(256);
    dim3 grid1((NY + block.x - 1) / block.x);
    dim3 grid2((NX + block.x - 1) / block.x);
    bicg_kernel1<<<grid1, block>>>(NX, NY, device_A, device_r, device_s);
    CHECK(cudaGetLastError());
    bicg_kernel2<<<grid2, block>>>(NX, NY, device_A, device_p, device_q);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());

    download(s, device_s);
    download(q, device_q);
    CHECK(cudaFree(device_A));
    CHECK(cudaFree(device_r));
    CHECK(cudaFree(device_p));
    CHECK(cudaFree(device_s));
    CHECK(cudaFree(device_q));
}

void bicg_on_host(int NX, int NY, const std::vector<float> &A, const std::vector<float> &r,
                  const std::vector<float> &p, std::vector<float> &s, std::vector<float> &q) {
    for (int j = 0; j < NY; j++) s[j] = 0.0f;
    for (int i = 0; i < NX; i++) {
        q[i] = 0.0f;
        for (int j = 0; j < NY; j++) {
            s[j] += r[i] * A[i * NY + j];
            q[i] += A[i * NY + j] * p[j];
        }
    }
}

int main(int argc, char **argv) {
    const int N = size_argument(argc, argv, 128);

    const std::vector<float> A = fixed_values((size_t)N * N, 1);
    const std::vector<float> r = fixed_values(N, 2);
    const std::vector<float> p = fixed_values(N, 3);
    std::vector<float> s(N), q(N);
    std::vector<float> expected_s = s, expected_q = q;

    bicg_on_device(N, N, A, r, p, s, q);
    bicg_on_host(N, N, A, r, p, expected_s, expected_q);
    return verdict(fmax(relative_error(s, expected_s), relative_error(q, expected_q)));
}

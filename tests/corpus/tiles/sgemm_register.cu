// C = alpha A B + beta C: a block makes BM x BN results from slices BK deep, a thread TM x TN of
// them in registers. The slice of A lies transposed in shared memory.
//
//     nvcc -O2 -o sgemm_register sgemm_register.cu && ./sgemm_register 300 200 250

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        cudaError_t error = (call);                                                              \
        if (error != cudaSuccess) {                                                              \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error));       \
            exit(1);                                                                             \
        }                                                                                        \
    } while (0)

template <int BM, int BN, int BK, int TM, int TN>
__global__ void __launch_bounds__((BM / TM) * (BN / TN))
    sgemm_kernel(int m, int n, int k, float alpha, const float *__restrict__ a,
                 const float *__restrict__ b, float beta, float *c) {
    constexpr int threads = (BM / TM) * (BN / TN);
    __shared__ float slice_a[BK][BM];
    __shared__ float slice_b[BK][BN];
    const int thread = threadIdx.x;
    const int thread_row = thread / (BN / TN) * TM, thread_column = thread % (BN / TN) * TN;
    const int first_row = blockIdx.y * BM, first_column = blockIdx.x * BN;
    float results[TM][TN] = {};
    float rows[TM], columns[TN];

    for (int start = 0; start < k; start += BK) {
        for (int e = thread; e < BM * BK; e += threads) {
            const int i = first_row + e / BK, l = start + e % BK;
            slice_a[e % BK][e / BK] = i < m && l < k ? a[(size_t)i * k + l] : 0.0f;
        }
        for (int e = thread; e < BK * BN; e += threads) {
            const int l = start + e / BN, j = first_column + e % BN;
            slice_b[e / BN][e % BN] = l < k && j < n ? b[(size_t)l * n + j] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int l = 0; l < BK; l++) {
#pragma unroll
            for (int i = 0; i < TM; i++) rows[i] = slice_a[l][thread_row + i];
#pragma unroll
            for (int j = 0; j < TN; j++) columns[j] = slice_b[l][thread_column + j];
#pragma unroll
            for (int i = 0; i < TM; i++)
#pragma unroll
                for (int j = 0; j < TN; j++) results[i][j] += rows[i] * columns[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < TM; i++) {
#pragma unroll
        for (int j = 0; j < TN; j++) {
            const int row = first_row + thread_row + i, column = first_column + thread_column + j;
            if (row < m && column < n) {
                const size_t at = (size_t)row * n + column;
                c[at] = beta == 0.0f ? alpha * results[i][j] : alpha * results[i][j] + beta * c[at];
            }
        }
    }
}

template <int BM, int BN, int BK, int TM, int TN>
void sgemm(int m, int n, int k, float alpha, const float *a, const float *b, float beta, float *c) {
    static_assert(BM % TM == 0 && BN % TN == 0, "tiles of a block are made of those of threads");
    constexpr int threads = (BM / TM) * (BN / TN);
    static_assert(threads >= 64 && threads <= 512, "64 to 512 threads");
    dim3 grid((n + BN - 1) / BN, (m + BM - 1) / BM);
    sgemm_kernel<BM, BN, BK, TM, TN><<<grid, threads>>>(m, n, k, alpha, a, b, beta, c);
    CHECK(cudaGetLastError());
}

static float *upload(const std::vector<float> &values) {
    float *pointer;
    CHECK(cudaMalloc(&pointer, values.size() * sizeof(float)));
    CHECK(cudaMemcpy(pointer, values.data(), values.size() * sizeof(float),
                     cudaMemcpyHostToDevice));
    return pointer;
}

int main(int argc, char **argv) {
    const int m = argc > 1 ? atoi(argv[1]) : 300;
    const int n = argc > 2 ? atoi(argv[2]) : 200;
    const int k = argc > 3 ? atoi(argv[3]) : 250;
    const float alpha = 1.5f, beta = 0.0f;

    std::vector<float> a((size_t)m * k), b((size_t)k * n), c((size_t)m * n);
    unsigned state = 7;
    for (std::vector<float> *matrix : {&a, &b})
        for (float &value : *matrix) value = ((state = state * 1664525u + 1013904223u) >> 8) * 0x1p-24f;
    float *d_a = upload(a), *d_b = upload(b), *d_c = upload(c);

    sgemm<64, 64, 8, 4, 4>(m, n, k, alpha, d_a, d_b, beta, d_c);

    CHECK(cudaMemcpy(c.data(), d_c, c.size() * sizeof(float), cudaMemcpyDeviceToHost));
    bool right = true;
    if ((double)m * n * k < 1e8) {
        for (int s = 0; s < 500; s++) {
            const int i = s * 7919 % m, j = s * 104729 % n;
            double expected = 0.0;
            for (int l = 0; l < k; l++) expected += (double)a[i * k + l] * b[l * n + j];
            right = right && fabs(c[i * n + j] - alpha * expected) <= 1e-4 * alpha * expected;
        }
    }
    double sum = 0.0, squares = 0.0;
    for (float value : c) {
        sum += value;
        squares += (double)value * value;
    }
    printf("%d x %d x %d: sum %.6e, squares %.6e\n", m, n, k, sum, squares);
    printf("%s\n", right ? "PASS" : "FAIL");
    cudaFree(d_a), cudaFree(d_b), cudaFree(d_c);
    return right ? 0 : 1;
}

// C = A B for complex matrices of n x n numbers, an element per thread.
//
//     nvcc -O2 -o complex_gemm complex_gemm.cu && ./complex_gemm 500

#include "../host.h"

typedef float2 cplx;

__host__ __device__ inline cplx cmul_add(cplx a, cplx b, cplx c) {
    c.x += a.x * b.x - a.y * b.y;
    c.y += a.x * b.y + a.y * b.x;
    return c;
}

__global__ void complex_gemm(const cplx *A, const cplx *B, cplx *C, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;

    if (row < n && col < n) {
        cplx sum = make_float2(0.0f, 0.0f);
        for (int k = 0; k < n; k++) {
            sum = cmul_add(A[row * n + k], B[k * n + col], sum);
        }
        C[row * n + col] = sum;
    }
}

static std::vector<cplx> complex_values(size_t count, unsigned seed) {
    const std::vector<float> parts = quick_values(2 * count, seed);
    std::vector<cplx> values(count);
    for (size_t i = 0; i < count; i++) values[i] = make_float2(parts[2 * i], parts[2 * i + 1]);
    return values;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64);
    const size_t count = (size_t)n * n;
    const std::vector<cplx> A = complex_values(count, 1), B = complex_values(count, 2);
    cplx *d_A = to_device(A), *d_B = to_device(B), *d_C = device_zeros<cplx>(count);

    dim3 threads(16, 16);
    dim3 blocks((n + threads.x - 1) / threads.x, (n + threads.y - 1) / threads.y);
    complex_gemm<<<blocks, threads>>>(d_A, d_B, d_C, n);
    finish_launches();

    // Real and imaginary parts one after the other.
    const std::vector<cplx> C = from_device(d_C, count);
    std::vector<float> parts(2 * count);
    for (size_t i = 0; i < count; i++) {
        parts[2 * i] = C[i].x;
        parts[2 * i + 1] = C[i].y;
    }
    return verdict(sampled_error(parts, [&](size_t e) {
        const size_t row = e / 2 / n, col = e / 2 % n;
        cplx sum = make_float2(0.0f, 0.0f);
        for (size_t k = 0; k < (size_t)n; k++)
            sum = cmul_add(A[row * n + k], B[k * n + col], sum);
        return e % 2 ? sum.y : sum.x;
    }));
}

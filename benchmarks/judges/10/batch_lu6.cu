// n systems of six equations, each solved by a thread: elimination with exchange of rows, in
// registers. The numbers of all systems that have the same place lie beside each other.
//
//     nvcc -O2 -o batch_lu6 batch_lu6.cu && ./batch_lu6 1000

#include "../host.h"

#define ORDER 6

__host__ __device__ inline void swap_if(bool wanted, float &a, float &b) {
    const float kept = a;
    a = wanted ? b : a;
    b = wanted ? kept : b;
}

// Leaves the solution in the right-hand side.
__host__ __device__ inline void solve(float (&a)[ORDER][ORDER], float (&b)[ORDER]) {
#pragma unroll
    for (int k = 0; k < ORDER; k++) {
#pragma unroll
        for (int r = k + 1; r < ORDER; r++) {
            const bool larger = fabsf(a[r][k]) > fabsf(a[k][k]);
#pragma unroll
            for (int c = k; c < ORDER; c++) swap_if(larger, a[k][c], a[r][c]);
            swap_if(larger, b[k], b[r]);
        }
        const float inverse = 1.0f / a[k][k];
#pragma unroll
        for (int r = k + 1; r < ORDER; r++) {
            const float factor = a[r][k] * inverse;
#pragma unroll
            for (int c = k + 1; c < ORDER; c++) a[r][c] -= factor * a[k][c];
            b[r] -= factor * b[k];
        }
    }
#pragma unroll
    for (int k = ORDER - 1; k >= 0; k--) {
#pragma unroll
        for (int c = k + 1; c < ORDER; c++) b[k] -= a[k][c] * b[c];
        b[k] /= a[k][k];
    }
}

__global__ void solve_all(const float *__restrict__ matrices, const float *__restrict__ right,
                          float *__restrict__ solutions, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float a[ORDER][ORDER], b[ORDER];
#pragma unroll
    for (int r = 0; r < ORDER; r++) {
#pragma unroll
        for (int c = 0; c < ORDER; c++) a[r][c] = matrices[(size_t)(r * ORDER + c) * count + i];
        b[r] = right[(size_t)r * count + i];
    }
    solve(a, b);
#pragma unroll
    for (int r = 0; r < ORDER; r++) solutions[(size_t)r * count + i] = b[r];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 500, 1 << 24);
    std::vector<float> matrices = quick_values((size_t)n * ORDER * ORDER, 1);
    const std::vector<float> right = quick_values((size_t)n * ORDER, 2);
    // One large number in each row, in a column that depends on the system.
    for (int r = 0; r < ORDER; r++)
        for (int i = 0; i < n; i++)
            matrices[(size_t)(r * ORDER + (5 * r + i) % ORDER) * n + i] += 6.0f;
    const float *d_matrices = to_device(matrices), *d_right = to_device(right);
    float *d_solutions = device_zeros<float>((size_t)n * ORDER);

    const int threads = 64;
    solve_all<<<(n + threads - 1) / threads, threads>>>(d_matrices, d_right, d_solutions, n);
    finish_launches();

    return verdict(sampled_error(from_device(d_solutions, (size_t)n * ORDER), [&](size_t e) {
        float a[ORDER][ORDER], b[ORDER];
        for (int r = 0; r < ORDER; r++) {
            for (int c = 0; c < ORDER; c++) a[r][c] = matrices[(size_t)(r * ORDER + c) * n + e % n];
            b[r] = right[(size_t)r * n + e % n];
        }
        solve(a, b);
        return b[e / n];
    }));
}

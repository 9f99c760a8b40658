// The lower triangle of C = alpha A A^T + beta C, A with n rows of 384 numbers. A block goes
// through A in tiles that are 16 deep; blocks above the diagonal have nothing to do.
//
//     nvcc -O2 -o syrk_lower syrk_lower.cu && ./syrk_lower 1000

#include "../host.h"

constexpr int TILE = 16;
constexpr int DEPTH = 384;

#pragma cutune kernel syrk_lower data(n) block(x: 8..64, y: 4..64) where(x * y <= 1024) \
    grid(ceil(n / x), ceil(n / y)) shared(68 * (x + y))
__global__ void syrk_lower(int n, float alpha, const float *A, float beta, float *C) {
    extern __shared__ float tiles[];
    const int col0 = blockIdx.x * blockDim.x, row0 = blockIdx.y * blockDim.y;
    if (col0 > row0 + (int)blockDim.y - 1) return;

    float *left = tiles;                            // blockDim.y rows
    float *right = tiles + blockDim.y * (TILE + 1);  // blockDim.x rows
    const int tid = threadIdx.y * blockDim.x + threadIdx.x;
    const int nthreads = blockDim.x * blockDim.y;
    float acc = 0.0f;
    for (int k0 = 0; k0 < DEPTH; k0 += TILE) {
        for (int e = tid; e < (int)blockDim.y * TILE; e += nthreads) {
            const int r = e / TILE, k = e % TILE;
            left[r * (TILE + 1) + k] = row0 + r < n ? A[(row0 + r) * DEPTH + k0 + k] : 0.0f;
        }
        for (int e = tid; e < (int)blockDim.x * TILE; e += nthreads) {
            const int r = e / TILE, k = e % TILE;
            right[r * (TILE + 1) + k] = col0 + r < n ? A[(col0 + r) * DEPTH + k0 + k] : 0.0f;
        }
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            acc += left[threadIdx.y * (TILE + 1) + k] * right[threadIdx.x * (TILE + 1) + k];
        __syncthreads();
    }
    const int row = row0 + threadIdx.y, col = col0 + threadIdx.x;
    if (row < n && col <= row) C[row * n + col] = alpha * acc + beta * C[row * n + col];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 100);
    const size_t count = (size_t)n * n;
    const float alpha = 0.5f, beta = 0.25f;
    const std::vector<float> A = quick_values((size_t)n * DEPTH, 1), C = quick_values(count, 2);
    const float *d_A = to_device(A);
    float *d_C = to_device(C);

    dim3 block(16, 16);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    size_t shared_bytes = sizeof(float) * (TILE + 1) * (block.x + block.y);
    syrk_lower<<<grid, block, shared_bytes>>>(n, alpha, d_A, beta, d_C);
    finish_launches();

    return verdict(sampled_error(from_device(d_C, count), [&](size_t e) {
        const size_t row = e / n, col = e % n;
        if (col > row) return C[e];
        float sum = 0.0f;
        for (int k = 0; k < DEPTH; k++) sum += A[row * DEPTH + k] * A[col * DEPTH + k];
        return alpha * sum + beta * C[e];
    }));
}

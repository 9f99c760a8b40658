// C = A B in shared-memory tiles: a block of x by y threads holds y rows and x columns, 16 deep.
//
//     nvcc -O2 -o tiled_matmul tiled_matmul.cu && ./tiled_matmul 512

#include "../judge.h"

#define DEPTH 16

#pragma cutune kernel tiled_matmul data(n) block(x: 8..128, y: 2..64) where(x * y <= 1024) grid(ceil(n / x), ceil(n / y))
__global__ void tiled_matmul(int n, const float *a, const float *b, float *c) {
    __shared__ float rows[64][DEPTH + 1], columns[DEPTH][128];
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int thread = threadIdx.y * blockDim.x + threadIdx.x;
    const int threads = blockDim.x * blockDim.y;
    float sum = 0.0f;
    for (int start = 0; start < n; start += DEPTH) {
        for (int e = thread; e < (int)blockDim.y * DEPTH; e += threads) {
            const int i = blockIdx.y * blockDim.y + e / DEPTH, k = start + e % DEPTH;
            rows[e / DEPTH][e % DEPTH] = i < n && k < n ? a[i * n + k] : 0.0f;
        }
        for (int e = thread; e < (int)blockDim.x * DEPTH; e += threads) {
            const int k = start + e / (int)blockDim.x, j = e % (int)blockDim.x;
            const int global = blockIdx.x * blockDim.x + j;
            columns[e / (int)blockDim.x][j] = k < n && global < n ? b[k * n + global] : 0.0f;
        }
        __syncthreads();
        for (int k = 0; k < DEPTH; k++) sum += rows[threadIdx.y][k] * columns[k][threadIdx.x];
        __syncthreads();
    }
    if (row < n && column < n) c[row * n + column] = sum;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 128);
    const std::vector<float> a = fixed_values((size_t)n * n, 1), b = fixed_values((size_t)n * n, 2);
    float *device_a = to_device(a), *device_b = to_device(b);
    float *device_c = to_device(std::vector<float>((size_t)n * n));

    dim3 block(16, 16);
    dim3 grid(blocks_for(n, block.x), blocks_for(n, block.y));
    tiled_matmul<<<grid, block>>>(n, device_a, device_b, device_c);
    finish_launches();

    return verdict(sampled_error(from_device(device_c, (size_t)n * n), [&](size_t e) {
        float sum = 0.0f;
        for (int k = 0; k < n; k++) sum += a[e / n * n + k] * b[(size_t)k * n + e % n];
        return sum;
    }));
}

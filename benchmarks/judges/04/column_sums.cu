// Sums of the columns of an n x n matrix, the gradient of a bias. A block takes 256 rows of as many
// columns as it is wide; partial sums of a column meet in dynamic shared memory, then in memory.
//
//     nvcc -O2 -o column_sums column_sums.cu && ./column_sums 1000

#include "../judge.h"

#define CHUNK 256

#pragma cutune kernel column_sums data(n) block(x: 8..256, y: 1, 2, 4, 8, 16, 32) \
    where(x * y <= 1024) grid(ceil(n / x), keep) shared(4 * x * y)
__global__ void column_sums(int n, const float *matrix, float *sums) {
    extern __shared__ float partial[];
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int end = min((int)(blockIdx.y + 1) * CHUNK, n);
    float sum = 0.0f;
    if (column < n)
        for (int row = blockIdx.y * CHUNK + threadIdx.y; row < end; row += blockDim.y)
            sum += matrix[row * n + column];
    float *own = &partial[threadIdx.y * blockDim.x + threadIdx.x];
    *own = sum;
    __syncthreads();
    for (unsigned half = blockDim.y / 2; half > 0; half /= 2) {
        if (threadIdx.y < half) *own += own[half * blockDim.x];
        __syncthreads();
    }
    if (threadIdx.y == 0 && column < n) atomicAdd(&sums[column], *own);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 200);
    const std::vector<float> matrix = fixed_values((size_t)n * n, 1);
    const float *device_matrix = to_device(matrix);
    float *device_sums = to_device(std::vector<float>(n));

    const dim3 block(32, 8);
    const dim3 grid(blocks_for(n, block.x), blocks_for(n, CHUNK));
    column_sums<<<grid, block, block.x * block.y * sizeof(float)>>>(n, device_matrix, device_sums);
    finish_launches();

    return verdict(sampled_error(from_device(device_sums, n), [&](size_t column) {
        double sum = 0.0;
        for (int row = 0; row < n; row++) sum += matrix[(size_t)row * n + column];
        return sum;
    }));
}

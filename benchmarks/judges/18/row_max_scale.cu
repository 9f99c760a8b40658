// n rows of 2048 floats are divided by their maxima: a block per row finds these, then a thread per
// element divides.
//
//     nvcc -O2 -o row_max_scale row_max_scale.cu && ./row_max_scale 20000

#include "checksum.h"

#define COLUMNS 2048

template <int Threads>
__global__ void row_maximum(const float *__restrict__ matrix, float *__restrict__ maxima,
                            int columns) {
    __shared__ float best[Threads];
    const float *row = matrix + (size_t)blockIdx.x * columns;
    float largest = row[0];
    for (int c = threadIdx.x; c < columns; c += Threads) largest = max(largest, row[c]);
    best[threadIdx.x] = largest;
    __syncthreads();
#pragma unroll
    for (int s = Threads / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) best[threadIdx.x] = max(best[threadIdx.x], best[threadIdx.x + s]);
        __syncthreads();
    }
    if (threadIdx.x == 0) maxima[blockIdx.x] = best[0];
}

__global__ void scale_rows(float *__restrict__ matrix, const float *__restrict__ maxima, int rows,
                           int columns) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) matrix[(size_t)row * columns + column] /= maxima[row];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 6, 500000);
    const size_t count = (size_t)n * COLUMNS;
    std::vector<float> matrix = quick_values(count, 1816);
    for (size_t i = 0; i < count; i++) matrix[i] *= (float)(1 + i / COLUMNS % 5);
    float *d_matrix = to_device(matrix), *d_maxima = device_zeros<float>(n);

    row_maximum<256><<<n, 256>>>(d_matrix, d_maxima, COLUMNS);
    const dim3 block(32, 8);
    const dim3 grid((COLUMNS + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    scale_rows<<<grid, block>>>(d_matrix, d_maxima, n, COLUMNS);
    finish_launches();

    const std::vector<float> scaled = from_device(d_matrix, count);
    return report(checksum_of(scaled), sampled_error(scaled, [&](size_t e) {
        const float *row = matrix.data() + e / COLUMNS * COLUMNS;
        float largest = row[0];
        for (int c = 1; c < COLUMNS; c++) largest = fmaxf(largest, row[c]);
        return row[e % COLUMNS] / largest;
    }));
}

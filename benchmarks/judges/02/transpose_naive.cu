// B = A^T for a matrix of n rows and 3 n / 2 columns: loads along rows, stores along columns.
//
//     nvcc -O2 -o transpose_naive transpose_naive.cu && ./transpose_naive 1000

#include "../judge.h"

__global__ void transpose_naive(int rows, int columns, const float *a, float *b) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column < columns && row < rows) b[column * rows + row] = a[row * columns + column];
}

int main(int argc, char **argv) {
    const int rows = size_argument(argc, argv, 200), columns = rows + rows / 2;
    const size_t count = (size_t)rows * columns;
    const std::vector<float> a = fixed_values(count, 1);
    float *device_a = to_device(a), *device_b = to_device(std::vector<float>(count));

    dim3 block(16, 16);
    dim3 grid(blocks_for(columns, block.x), blocks_for(rows, block.y));
    transpose_naive<<<grid, block>>>(rows, columns, device_a, device_b);
    finish_launches();

    return verdict(sampled_error(from_device(device_b, count),
                                 [&](size_t e) { return a[e % rows * columns + e / rows]; }));
}

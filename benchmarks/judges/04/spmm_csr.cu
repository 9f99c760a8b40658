// A sparse matrix of n rows in CSR form, 8 to 23 entries each, times a dense matrix of 64 columns.
//
//     nvcc -O2 -o spmm_csr spmm_csr.cu && ./spmm_csr 10000

#include "../judge.h"

#define COLUMNS 64

__global__ void spmm_csr(int n, int width, const int *starts, const int *columns,
                         const float *values, const float *dense, float *product) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || j >= width) return;
    const int end = starts[row + 1];
    float sum = 0.0f;
    for (int e = starts[row]; e < end; e++) sum += values[e] * dense[columns[e] * width + j];
    product[row * width + j] = sum;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 400, 500000);
    const std::vector<int> lengths = fixed_integers(n, 16, 1);
    std::vector<int> starts(n + 1);
    for (int row = 0; row < n; row++) starts[row + 1] = starts[row] + 8 + lengths[row];
    const std::vector<int> columns = fixed_integers(starts[n], n, 2);
    const size_t count = (size_t)n * COLUMNS;
    const std::vector<float> values = fixed_values(starts[n], 3), dense = fixed_values(count, 4);
    const int *device_starts = to_device(starts), *device_columns = to_device(columns);
    const float *device_values = to_device(values), *device_dense = to_device(dense);
    float *device_product = to_device(std::vector<float>(count));

    const dim3 block(32, 8);
    const dim3 grid(COLUMNS / block.x, blocks_for(n, block.y));
    spmm_csr<<<grid, block>>>(n, COLUMNS, device_starts, device_columns, device_values,
                              device_dense, device_product);
    finish_launches();

    return verdict(sampled_error(from_device(device_product, count), [&](size_t e) {
        const size_t row = e / COLUMNS, j = e % COLUMNS;
        double sum = 0.0;
        for (int k = starts[row]; k < starts[row + 1]; k++)
            sum += values[k] * dense[(size_t)columns[k] * COLUMNS + j];
        return sum;
    }));
}

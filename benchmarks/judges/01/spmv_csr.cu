// y = A x for a sparse matrix in compressed rows, one thread per row; rows have 0 to 31 entries.
//
//     nvcc -O2 -o spmv_csr spmv_csr.cu && ./spmv_csr 100000

#include "../judge.h"

__global__ void spmv_csr(int n, const int *row_starts, const int *columns, const float *values,
                         const float *x, float *y) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n) {
        float sum = 0.0f;
        for (int e = row_starts[row]; e < row_starts[row + 1]; e++) sum += values[e] * x[columns[e]];
        y[row] = sum;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 2000, 1 << 24);
    std::vector<int> row_starts = fixed_integers((size_t)n + 1, 32, 1);
    row_starts[0] = 0;
    for (int row = 0; row < n; row++) row_starts[row + 1] += row_starts[row];
    const std::vector<int> columns = fixed_integers((size_t)row_starts[n] + 1, n, 2);
    const std::vector<float> values = fixed_values(columns.size(), 3), x = fixed_values(n, 4);
    int *device_starts = to_device(row_starts), *device_columns = to_device(columns);
    float *device_values = to_device(values), *device_x = to_device(x);
    float *device_y = to_device(std::vector<float>(n));

    const unsigned block = 256;
    spmv_csr<<<blocks_for(n, block), block>>>(n, device_starts, device_columns, device_values,
                                              device_x, device_y);
    finish_launches();

    return verdict(sampled_error(from_device(device_y, n), [&](size_t row) {
        float sum = 0.0f;
        for (int e = row_starts[row]; e < row_starts[row + 1]; e++) sum += values[e] * x[columns[e]];
        return sum;
    }));
}

// Sparse matrix times vector, in slices of 32 rows: each slice is filled up to its longest row and
// stored by columns, so that neighbouring threads read neighbouring numbers.
//
//     nvcc -O2 -o spmv_sell spmv_sell.cu && ./spmv_sell 100000

#include "../host.h"

#define SLICE 32

__global__ void spmv_sell(int rows, const int *__restrict__ slice_start,
                          const int *__restrict__ columns, const float *__restrict__ values,
                          const float *__restrict__ x, float *__restrict__ y) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        int lane = row % SLICE;
        int begin = slice_start[row / SLICE], end = slice_start[row / SLICE + 1];
        float sum = 0.0f;
        for (int at = begin + lane; at < end; at += SLICE) sum += values[at] * x[columns[at]];
        y[row] = sum;
    }
}

static int row_length(int row) {
    return 4 + (int)(mixed(row + 77u) % 12) + (row % 97 == 0 ? 20 : 0);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 500, 10000000);
    const int slices = (n + SLICE - 1) / SLICE;
    std::vector<int> slice_start(slices + 1);
    for (int s = 0; s < slices; s++) {
        int longest = 0;
        for (int row = s * SLICE; row < (s + 1) * SLICE && row < n; row++)
            if (row_length(row) > longest) longest = row_length(row);
        slice_start[s + 1] = slice_start[s] + longest * SLICE;
    }
    const size_t entries = slice_start[slices];
    std::vector<int> columns(entries);
    std::vector<float> values(entries);
    for (int row = 0; row < n; row++) {
        size_t at = slice_start[row / SLICE] + row % SLICE;
        for (int j = 0; j < row_length(row); j++, at += SLICE) {
            const uint32_t bits = mixed((uint32_t)at);
            const long long column = row + (long long)(bits % 4001) - 2000;
            columns[at] = (int)((column % n + n) % n);
            values[at] = (bits >> 12) * (1.0f / 1048576.0f) - 0.3f;
        }
    }
    const std::vector<float> x = quick_values(n, 1);
    const int *d_slice_start = to_device(slice_start), *d_columns = to_device(columns);
    const float *d_values = to_device(values), *d_x = to_device(x);
    float *d_y = device_zeros<float>(n);

    dim3 block(128);
    dim3 grid((n + block.x - 1) / block.x);
    spmv_sell<<<grid, block>>>(n, d_slice_start, d_columns, d_values, d_x, d_y);
    finish_launches();

    return verdict(sampled_error(from_device(d_y, n), [&](size_t row) {
        float sum = 0.0f;
        size_t at = slice_start[row / SLICE] + row % SLICE;
        for (int j = 0; j < row_length((int)row); j++, at += SLICE)
            sum += values[at] * x[columns[at]];
        return sum;
    }));
}

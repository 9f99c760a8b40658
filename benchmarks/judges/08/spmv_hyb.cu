// The product of a sparse matrix of n rows with a vector, in the hybrid format: up to eight entries
// of each row column by column (ELL), and the rest as a list of entries (COO), added by atomics.
//
//     nvcc -O2 -o spmv_hyb spmv_hyb.cu && ./spmv_hyb 100000

#include "../host.h"

#define WIDTH 8

__global__ void spmv_ell_part(int rows, const int *column, const float *value, const float *x,
                              float *y) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int k = 0; k < WIDTH; k++) {
        int c = column[k * rows + row];
        if (c >= 0) sum += value[k * rows + row] * x[c];
    }
    y[row] = sum;
}

__global__ void spmv_coo_part(int entries, const int *row, const int *column, const float *value,
                              const float *x, float *y) {
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e < entries) atomicAdd(&y[row[e]], value[e] * x[column[e]]);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1 << 25);
    const size_t ell = (size_t)WIDTH * n;
    // A row has 3 to 10 entries, and one in 50 has 90 more.
    const auto length = [](int row) {
        const uint32_t bits = mixed((uint32_t)row);
        return 3 + (int)(bits % 8) + ((bits >> 8) % 50 == 0 ? 90 : 0);
    };
    // Most are near the diagonal, and one in eight is anywhere.
    const auto column_of = [&](int row, int k) {
        const uint32_t bits = mixed((uint32_t)row * 101u + (uint32_t)k);
        if (bits % 8 == 0) return (int)((uint64_t)bits * (uint32_t)n >> 32);
        const int near = row + (int)(bits >> 8) % 1000 - 500;
        return near < 0 ? 0 : near >= n ? n - 1 : near;
    };
    const auto value_of = [](int row, int k) { return 0.1f + 0.01f * (float)((row + 3 * k) % 97); };
    std::vector<int> column(ell, -1), tail_row, tail_column;
    std::vector<float> value(ell), tail_value;
    const size_t room = (size_t)n * 5 / 2 + 1000;
    tail_row.reserve(room);
    tail_column.reserve(room);
    tail_value.reserve(room);
    for (int row = 0; row < n; row++)
        for (int k = 0, end = length(row); k < end; k++)
            if (k < WIDTH) {
                column[(size_t)k * n + row] = column_of(row, k);
                value[(size_t)k * n + row] = value_of(row, k);
            } else {
                tail_row.push_back(row);
                tail_column.push_back(column_of(row, k));
                tail_value.push_back(value_of(row, k));
            }
    const std::vector<float> x = quick_values(n, 3);
    const int *d_column = to_device(column);
    const float *d_value = to_device(value), *d_x = to_device(x);
    const int *d_tail_row = to_device(tail_row), *d_tail_column = to_device(tail_column);
    const float *d_tail_value = to_device(tail_value);
    float *d_y = device_zeros<float>(n);

    const int threads = 256, entries = (int)tail_row.size();
    spmv_ell_part<<<(n + threads - 1) / threads, threads>>>(n, d_column, d_value, d_x, d_y);
    spmv_coo_part<<<(entries + threads - 1) / threads, threads>>>(
        entries, d_tail_row, d_tail_column, d_tail_value, d_x, d_y);
    finish_launches();

    return verdict(sampled_error(from_device(d_y, n), [&](size_t row) {
        double sum = 0.0;
        for (int k = 0, end = length((int)row); k < end; k++)
            sum += (double)value_of((int)row, k) * x[column_of((int)row, k)];
        return sum;
    }));
}

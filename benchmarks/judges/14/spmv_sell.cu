// Sparse matrix times vector in FP64, n rows in sliced ELLPACK form: 32 rows are stored side by
// side and padded to the longest of them. Columns lie near the diagonal, a few far away.
//
//     nvcc -O2 -o spmv_sell spmv_sell.cu && ./spmv_sell 400000

#include "../host.h"

#define SLICE 32

__global__ void multiply(const int *__restrict__ slices, const int *__restrict__ columns,
                         const double *__restrict__ values, const double *__restrict__ x,
                         double *__restrict__ y, int rows) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const int slice = row / SLICE;
    const int end = slices[slice + 1];
    double sum = 0.0;
    for (int at = slices[slice] + row % SLICE; at < end; at += SLICE)
        sum += values[at] * x[columns[at]];
    y[row] = sum;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 15000000);
    const int slice_count = (n + SLICE - 1) / SLICE;
    // Slices are 7 to 22 wide; rows in them end up to three entries earlier.
    std::vector<int> slices(slice_count + 1, 0);
    for (int s = 0; s < slice_count; s++)
        slices[s + 1] = slices[s] + SLICE * (7 + (int)(mixed(s + 101u) % 16));
    std::vector<int> columns(slices[slice_count]);
    std::vector<double> values(slices[slice_count]);
    for (int s = 0; s < slice_count; s++) {
        const int width = (slices[s + 1] - slices[s]) / SLICE;
        for (int k = 0; k < width; k++)
            for (int lane = 0; lane < SLICE; lane++) {
                const int row = s * SLICE + lane, at = slices[s] + k * SLICE + lane;
                const uint32_t bits = mixed((uint32_t)at + 102u);
                long long column = row;
                if (k + (lane + s) % 4 < width) {
                    column = (long long)row + 3 * k - 24 + bits % 4;
                    if (k % 6 == 5) column = (long long)row + (int)(bits % 60000) - 30000;
                    values[at] = (bits >> 8) * (1.0 / 16777216.0);
                }
                columns[at] = (int)(column < 0 ? 0 : column < n ? column : n - 1);
            }
    }
    std::vector<double> x(n);
    for (int i = 0; i < n; i++) x[i] = 1.0 + (mixed(i + 103u) >> 8) * (1.0 / 16777216.0);
    const int *d_slices = to_device(slices);
    const int *d_columns = to_device(columns);
    const double *d_values = to_device(values);
    const double *d_x = to_device(x);
    double *d_y = device_zeros<double>(n);

    const int threads = 256;
    multiply<<<(n + threads - 1) / threads, threads>>>(d_slices, d_columns, d_values, d_x, d_y, n);
    finish_launches();

    const std::vector<double> y = from_device(d_y, n);
    return verdict(sampled_error(y, [&](size_t row) {
        double sum = 0.0;
        for (int at = slices[row / SLICE] + (int)(row % SLICE); at < slices[row / SLICE + 1];
             at += SLICE)
            sum += values[at] * x[columns[at]];
        return sum;
    }));
}

// A sparse matrix of n rows, nine entries each, times a vector, in double precision. The entries
// lie as in ELLPACK, column by column; they are those of nine points on a square grid.
//
//     nvcc -O2 -o spmv_ell spmv_ell.cu && ./spmv_ell 100000

#include "../judge.h"

__global__ void spmv_ell(int rows, int width, const int *columns, const double *values,
                         const double *x, double *y) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    double sum = 0.0;
    for (int k = 0; k < width; k++) {
        const int column = columns[k * rows + row];
        if (column >= 0) sum += values[k * rows + row] * x[column];
    }
    y[row] = sum;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 5000, 1 << 25), width = 9;
    const int side = (int)sqrt((double)n);
    const size_t count = (size_t)n * width;
    const std::vector<float> numbers = fixed_values(count, 1), vector = fixed_values(n, 2);
    const std::vector<double> values(numbers.begin(), numbers.end());
    const std::vector<double> x(vector.begin(), vector.end());
    std::vector<int> columns(count);
    for (int k = 0; k < width; k++)
        for (int row = 0; row < n; row++) {
            const int column = row + (k / 3 - 1) * side + k % 3 - 1;
            columns[(size_t)k * n + row] = column >= 0 && column < n ? column : -1;
        }
    int *device_columns = to_device(columns);
    double *device_values = to_device(values), *device_x = to_device(x);
    double *device_y = to_device(std::vector<double>(n));

    const int threads = 256;
    const int blocks = (n + threads - 1) / threads;
    spmv_ell<<<blocks, threads>>>(n, width, device_columns, device_values, device_x, device_y);
    finish_launches();

    return verdict(sampled_error(from_device(device_y, n), [&](size_t row) {
        double sum = 0.0;
        for (int k = 0; k < width; k++) {
            const int column = columns[(size_t)k * n + row];
            if (column >= 0) sum += values[(size_t)k * n + row] * x[column];
        }
        return sum;
    }));
}

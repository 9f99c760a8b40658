// Three sweeps of Jacobi's method in double precision on a sparse system in CSR form. Rows have 2
// to 13 entries beside the diagonal, half of them close to it and half anywhere.
//
//     nvcc -O2 -o jacobi_csr jacobi_csr.cu && ./jacobi_csr 100000

#include "../host.h"

__host__ __device__ inline double improved(int row, const int *start, const int *column,
                                           const double *value, const double *diagonal,
                                           const double *b, const double *x) {
    double rest = b[row];
    for (int e = start[row]; e < start[row + 1]; e++) rest -= value[e] * x[column[e]];
    return rest / diagonal[row];
}

__global__ void jacobi_sweep(const int *start, const int *column, const double *value,
                             const double *diagonal, const double *b, const double *x,
                             double *x_new, int rows) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    x_new[row] = improved(row, start, column, value, diagonal, b, x);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 500, 20000000);
    std::vector<int> start(n + 1);
    for (int row = 0; row < n; row++) start[row + 1] = start[row] + 2 + (int)(mixed(row) % 12);
    std::vector<int> column(start[n]);
    std::vector<double> value(start[n]), diagonal(n), b(n);
    const std::vector<float> numbers = quick_values(n, 3);
    for (int row = 0; row < n; row++) {
        double sum = 0.0;
        for (int e = start[row]; e < start[row + 1]; e++) {
            const uint32_t bits = mixed(e + 5u);
            column[e] = (int)((e % 2 ? (uint64_t)row + bits % 500 : (uint64_t)(bits >> 1)) % n);
            value[e] = (bits % 1000) * 0.001 - 0.5;
            sum += fabs(value[e]);
        }
        diagonal[row] = 1.0 + 1.5 * sum;
        b[row] = numbers[row];
    }
    const int *d_start = to_device(start), *d_column = to_device(column);
    const double *d_value = to_device(value), *d_diagonal = to_device(diagonal);
    const double *d_b = to_device(b);
    double *d_x = to_device(b), *d_x_new = device_zeros<double>(n);

    const int threads = 256;
    const int blocks = (n + threads - 1) / threads;
    std::vector<double> x = b, x_new(n);
    for (int sweep = 0; sweep < 3; sweep++) {
        jacobi_sweep<<<blocks, threads>>>(d_start, d_column, d_value, d_diagonal, d_b, d_x, d_x_new,
                                          n);
        std::swap(d_x, d_x_new);
    }
    finish_launches();

    for (int sweep = 0; sweep < 2; sweep++) {
        for (int row = 0; row < n; row++)
            x_new[row] = improved(row, start.data(), column.data(), value.data(), diagonal.data(),
                                  b.data(), x.data());
        x.swap(x_new);
    }
    return verdict(sampled_error(from_device(d_x, n), [&](size_t row) {
        return improved((int)row, start.data(), column.data(), value.data(), diagonal.data(),
                        b.data(), x.data());
    }));
}

// A sparse matrix of n rows with nine diagonals, stored one after the other, times a vector, in
// double precision. It belongs to a grid that is 1500 points wide.
//
//     nvcc -O2 -o spmv_dia spmv_dia.cu && ./spmv_dia 1000000

#include "../judge.h"

#define WIDTH 1500
#define DIAGONALS 9

// Where diagonal d lies: the nine neighbours of a point.
__host__ __device__ inline int offset(int d) { return (d / 3 - 1) * WIDTH + d % 3 - 1; }

__global__ void spmv_dia(int n, const double *values, const double *x, double *y) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    double sum = 0.0;
    for (int d = 0; d < DIAGONALS; d++) {
        const int column = row + offset(d);
        if (column >= 0 && column < n) sum += values[d * n + row] * x[column];
    }
    y[row] = sum;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 5000, 1 << 27);
    const std::vector<float> numbers = fixed_values((DIAGONALS + 1) * (size_t)n, 1);
    const std::vector<double> x(numbers.begin(), numbers.begin() + n);
    const std::vector<double> values(numbers.begin() + n, numbers.end());
    const double *device_values = to_device(values), *device_x = to_device(x);
    double *device_y = to_device(std::vector<double>(n));

    const int threads = 256;
    spmv_dia<<<(n + threads - 1) / threads, threads>>>(n, device_values, device_x, device_y);
    finish_launches();

    return verdict(sampled_error(from_device(device_y, n), [&](size_t row) {
        double sum = 0.0;
        for (int d = 0; d < DIAGONALS; d++) {
            const long long column = (long long)row + offset(d);
            if (column >= 0 && column < n) sum += values[(size_t)d * n + row] * x[column];
        }
        return sum;
    }));
}

// Sparse matrices: n entries as rows, columns and values, twelve to a row, times a vector. A
// thread adds its entry to the row's sum with an atomic addition.
//
//     nvcc -O2 -o coo_matvec coo_matvec.cu && ./coo_matvec 1000000

#include "../host.h"

#define PER_ROW 12

__global__ void add_entries(const int *rows, const int *columns, const float *values,
                            const float *x, float *y, int entries) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= entries) return;
    atomicAdd(&y[rows[i]], values[i] * x[columns[i]]);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 200000000);
    const int size = (n + PER_ROW - 1) / PER_ROW;
    std::vector<int> rows(n), columns(n);
    for (int i = 0; i < n; i++) {
        // Half of a row near its diagonal, the others anywhere.
        const uint32_t bits = mixed(i + 2071u);
        rows[i] = i / PER_ROW;
        columns[i] = (int)((i % 2 ? rows[i] + bits % 64u : bits) % (uint32_t)size);
    }
    const std::vector<float> values = quick_values(n, 2072), x = quick_values(size, 2073);
    const int *d_rows = to_device(rows), *d_columns = to_device(columns);
    const float *d_values = to_device(values), *d_x = to_device(x);
    float *d_y = device_zeros<float>(size);

    const int block = 512;
    add_entries<<<blocks_for(n, block), block>>>(d_rows, d_columns, d_values, d_x, d_y, n);
    finish_launches();

    const std::vector<float> y = from_device(d_y, size);
    return verdict(sampled_error(y, [&](size_t row) {
        double sum = 0.0;
        for (size_t i = row * PER_ROW; i < (row + 1) * PER_ROW && i < (size_t)n; i++)
            sum += (double)values[i] * x[columns[i]];
        return sum;
    }));
}

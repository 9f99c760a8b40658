// Sparse matrix in compressed columns times a vector: a thread per column, of 4 to 12 entries in a
// broad band, adds its share to the results by atomic additions.
//
//     nvcc -O2 -o spmv_csc spmv_csc.cu && ./spmv_csc 1000

#include "../host.h"

#define BAND 30000

__global__ void spmv_csc(const int *__restrict__ starts, const int *__restrict__ rows,
                         const float *__restrict__ values, const float *__restrict__ x, float *y,
                         int columns) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= columns) return;
    const float factor = x[column];
    const int end = starts[column + 1];
    for (int e = starts[column]; e < end; e++) atomicAdd(&y[rows[e]], values[e] * factor);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1 << 26);
    std::vector<int> starts(n + 1, 0);
    for (int column = 0; column < n; column++)
        starts[column + 1] = starts[column] + 4 + (int)(mixed((uint32_t)column) % 9);
    const int count = starts[n], band = n < BAND ? n : BAND;
    std::vector<int> rows(count);
    for (int column = 0; column < n; column++) {
        int first = column - band / 2;
        if (first > n - band) first = n - band;
        if (first < 0) first = 0;
        // One entry in each of as many parts of the band as there are entries, in order.
        const int entries = starts[column + 1] - starts[column], part = band / entries;
        for (int e = 0; e < entries; e++) {
            const int inside = part > 0 ? (int)(mixed(16u * column + e) % (uint32_t)part) : 0;
            rows[starts[column] + e] = first + e * part + inside;
        }
    }
    const std::vector<float> values = quick_values(count, 1), x = quick_values(n, 2);
    const int *d_starts = to_device(starts), *d_rows = to_device(rows);
    const float *d_values = to_device(values), *d_x = to_device(x);
    float *d_y = device_zeros<float>(n);

    const int threads = 256;
    spmv_csc<<<(n + threads - 1) / threads, threads>>>(d_starts, d_rows, d_values, d_x, d_y, n);
    finish_launches();

    std::vector<double> y(n, 0.0);
    for (int column = 0; column < n; column++)
        for (int e = starts[column]; e < starts[column + 1]; e++)
            y[rows[e]] += (double)values[e] * x[column];
    return verdict(sampled_error(from_device(d_y, n), [&](size_t row) { return y[row]; }));
}

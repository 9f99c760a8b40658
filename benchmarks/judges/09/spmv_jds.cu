// The product of a sparse matrix and a vector, with the matrix as jagged diagonals: rows sorted by
// their lengths, the first entries of all rows, then the second ones of those that have one, and so
// on.
//
//     nvcc -O2 -o spmv_jds spmv_jds.cu && ./spmv_jds 100000

#include "../host.h"

#define LONGEST 24

__global__ void spmv_jds(int rows, int diagonals, const int *__restrict__ start,
                         const int *__restrict__ order, const int *__restrict__ column,
                         const float *__restrict__ value, const float *__restrict__ x, float *y) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float sum = 0.0f;
    for (int d = 0; d < diagonals; d++) {
        int first = start[d];
        if (r >= start[d + 1] - first) break;
        sum += value[first + r] * x[column[first + r]];
    }
    y[order[r]] = sum;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1 << 25);
    // From 1 to 24 entries in a row, few in most of them.
    std::vector<int> length(n), with_length(LONGEST + 2);
    for (int row = 0; row < n; row++) {
        const uint32_t bits = mixed(row);
        length[row] = 1 + (int)(bits % 12) * (int)(bits / 12 % 3);
        with_length[length[row]]++;
    }
    std::vector<int> next(LONGEST + 2), order(n), start(1);
    for (int l = LONGEST - 1; l >= 0; l--) next[l] = next[l + 1] + with_length[l + 1];
    for (int d = 0; d < LONGEST; d++) start.push_back(start.back() + next[d]);
    for (int row = 0; row < n; row++) order[next[length[row]]++] = row;

    std::vector<int> column(start.back());
    for (int d = 0; d < LONGEST; d++)
        for (int at = start[d]; at < start[d + 1]; at++) {
            const uint32_t bits = mixed(at + 77u);
            const int row = order[at - start[d]];
            // Three quarters are close to the diagonal, the others anywhere.
            column[at] = bits % 4 ? (int)((row + (bits >> 2) % 500) % n) : (int)((bits >> 2) % n);
        }
    const std::vector<float> value = quick_values(column.size(), 1), x = quick_values(n, 2);
    const int *d_start = to_device(start), *d_order = to_device(order);
    const int *d_column = to_device(column);
    const float *d_value = to_device(value), *d_x = to_device(x);
    float *d_y = device_zeros<float>(n);

    const int threads = 256;
    spmv_jds<<<(n + threads - 1) / threads, threads>>>(n, LONGEST, d_start, d_order, d_column,
                                                       d_value, d_x, d_y);
    finish_launches();

    // In the order of the sorted rows.
    const std::vector<float> y = from_device(d_y, n);
    std::vector<float> sorted(n);
    for (int r = 0; r < n; r++) sorted[r] = y[order[r]];
    return verdict(sampled_error(sorted, [&](size_t r) {
        double sum = 0.0;
        for (int d = 0; d < length[order[r]]; d++)
            sum += (double)value[start[d] + r] * x[column[start[d] + r]];
        return sum;
    }));
}

// A sparse matrix of n rows in CSR, of up to 95 entries each, times a vector: one warp per row,
// whose lanes add by shuffles.
//
//     nvcc -O2 -o spmv_warp spmv_warp.cu && ./spmv_warp 100000

#include "../judge.h"

#pragma cutune kernel spmv_warp data(n) block(x: 32, 64, 128, 256, 512, 1024) grid(ceil(32 * n / x))
__global__ void spmv_warp(int n, const int *starts, const int *columns, const float *values,
                          const float *x, float *y) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = thread / 32, lane = thread % 32;
    if (row >= n) return;
    float sum = 0.0f;
    for (int e = starts[row] + lane; e < starts[row + 1]; e += 32) sum += values[e] * x[columns[e]];
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(~0u, sum, offset);
    if (lane == 0) y[row] = sum;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1 << 24);
    const std::vector<int> lengths = fixed_integers(n, 96, 1);
    std::vector<int> starts(n + 1);
    for (int row = 0; row < n; row++) starts[row + 1] = starts[row] + lengths[row];
    const std::vector<int> columns = fixed_integers(starts[n] + 1, n, 2);
    const std::vector<float> values = fixed_values(starts[n] + 1, 3), x = fixed_values(n, 4);
    const int *device_starts = to_device(starts), *device_columns = to_device(columns);
    const float *device_values = to_device(values), *device_x = to_device(x);
    float *device_y = to_device(std::vector<float>(n));

    const int threads = 128;
    const int blocks = (32 * n + threads - 1) / threads;
    spmv_warp<<<blocks, threads>>>(n, device_starts, device_columns, device_values, device_x,
                                   device_y);
    finish_launches();

    return verdict(sampled_error(from_device(device_y, n), [&](size_t row) {
        double sum = 0.0;
        for (int e = starts[row]; e < starts[row + 1]; e++) sum += values[e] * x[columns[e]];
        return sum;
    }));
}

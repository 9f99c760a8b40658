// Row sums of a sparse matrix of n rows in CSR form, weighted degrees of a graph: a warp per row of
// 0 to 95 entries, in one row of 16 up to 400.
//
//     nvcc -O2 -o csr_row_sums csr_row_sums.cu && ./csr_row_sums 1000000

#include "checksum.h"

#define WARP_SIZE 32

__global__ void csr_row_sums(const int *__restrict__ row_start, const float *__restrict__ values,
                             float *__restrict__ sums, int rows) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = thread / WARP_SIZE, lane = thread % WARP_SIZE;
    if (row < rows) {
        const int end = row_start[row + 1];
        float sum = 0.0f;
        for (int i = row_start[row] + lane; i < end; i += WARP_SIZE) sum += values[i];
        for (int offset = WARP_SIZE / 2; offset > 0; offset /= 2)
            sum += __shfl_down_sync(0xffffffffu, sum, offset);
        if (lane == 0) sums[row] = sum;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 100, 30000000);
    std::vector<int> row_start(n + 1);
    for (int row = 0; row < n; row++) {
        const uint32_t bits = mixed(1841 + row);
        const int entries = bits % 16 == 0 ? (bits >> 8) % 401 : (bits >> 8) % 96;
        row_start[row + 1] = row_start[row] + entries;
    }
    const std::vector<float> values = quick_values((size_t)row_start[n] + 1, 1842);
    const int *d_row_start = to_device(row_start);
    const float *d_values = to_device(values);
    float *d_sums = device_zeros<float>(n);

    const int threads = 256;
    const int blocks = (int)(((long long)n * WARP_SIZE + threads - 1) / threads);
    csr_row_sums<<<blocks, threads>>>(d_row_start, d_values, d_sums, n);
    finish_launches();

    const std::vector<float> sums = from_device(d_sums, n);
    return report(checksum_of(sums), sampled_error(sums, [&](size_t row) {
        double sum = 0.0;
        for (int i = row_start[row]; i < row_start[row + 1]; i++) sum += values[i];
        return sum;
    }));
}

// Two products of an n x n matrix with a vector, as in a power iteration, a warp per row: in blocks
// of one dimension, then in blocks of 32 x 8.
//
//     nvcc -O2 -o gemv_warps gemv_warps.cu && ./gemv_warps 8192

#include "checksum.h"

#define FULL_MASK 0xffffffffu

__global__ void gemv_flat(const float *__restrict__ a, const float *__restrict__ x,
                          float *__restrict__ y, int n) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const int lane = threadIdx.x & 31;
    if (row >= n) return;
    const float *line = a + (size_t)row * n;
    float sum = 0.0f;
    for (int c = lane; c < n; c += 32) sum += line[c] * x[c];
    for (int offset = 16; offset > 0; offset >>= 1)
        sum += __shfl_down_sync(FULL_MASK, sum, offset);
    if (lane == 0) y[row] = sum / n;
}

__global__ void gemv_rows(const float *__restrict__ a, const float *__restrict__ x,
                          float *__restrict__ y, int n) {
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= n) return;
    const float *line = a + (size_t)row * n;
    float sum = 0.0f;
    for (int c = threadIdx.x; c < n; c += 32) sum += line[c] * x[c];
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_xor_sync(FULL_MASK, sum, offset);
    if (threadIdx.x == 0) y[row] = sum;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 100, 40000);
    const std::vector<float> a = quick_values((size_t)n * n, 1812), x = quick_values(n, 1813);
    const float *d_a = to_device(a), *d_x = to_device(x);
    float *d_y = device_zeros<float>(n), *d_z = device_zeros<float>(n);

    const int threads = 256, rows_per_block = threads / 32;
    gemv_flat<<<(n + rows_per_block - 1) / rows_per_block, threads>>>(d_a, d_x, d_y, n);
    const dim3 block(32, 8);
    gemv_rows<<<(n + block.y - 1) / block.y, block>>>(d_a, d_y, d_z, n);
    finish_launches();

    const std::vector<float> y = from_device(d_y, n), z = from_device(d_z, n);
    const auto product = [&](size_t row, const std::vector<float> &with) {
        double sum = 0.0;
        for (int c = 0; c < n; c++) sum += (double)a[row * n + c] * with[c];
        return sum;
    };
    const double error = fmax(sampled_error(y, [&](size_t row) { return product(row, x) / n; }),
                              sampled_error(z, [&](size_t row) { return product(row, y); }));
    return report(checksum_of(y) + checksum_of(z), error);
}

// y = A x for a sparse matrix of dense blocks of 4 x 4, n block rows with two to ten blocks each,
// not far from the diagonal. A thread has one of the four rows of a block row.
//
//     nvcc -O2 -o spmv_bsr spmv_bsr.cu && ./spmv_bsr 100000

#include "../host.h"

struct BsrMatrix {
    int block_rows;
    const int *row_ptr;
    const int *col_idx;
    const float4 *values;  // four rows of each block
};

__global__ void spmv_bsr(BsrMatrix A, const float4 *x, float *y) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= 4 * A.block_rows) return;
    const int block_row = row / 4, local = row % 4;
    float sum = 0.0f;
    for (int b = A.row_ptr[block_row]; b < A.row_ptr[block_row + 1]; b++) {
        const float4 a = A.values[4 * b + local];
        const float4 v = x[A.col_idx[b]];
        sum += a.x * v.x + a.y * v.y + a.z * v.z + a.w * v.w;
    }
    y[row] = sum;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 20000000);
    std::vector<int> row_ptr(n + 1), col_idx;
    for (int r = 0; r < n; r++) {
        const int blocks = 2 + mixed(r) % 9;
        for (int b = 0; b < blocks; b++) {
            const int column = r + (int)(mixed(16 * r + b) % 2001) - 1000;
            col_idx.push_back(column < 0 ? 0 : column >= n ? n - 1 : column);
        }
        row_ptr[r + 1] = row_ptr[r] + blocks;
    }
    const std::vector<float> values = quick_values(16 * col_idx.size(), 1);
    const std::vector<float> x = quick_values(4 * (size_t)n, 2);
    const BsrMatrix A = {n, to_device(row_ptr), to_device(col_idx), (float4 *)to_device(values)};
    const float4 *d_x = (const float4 *)to_device(x);
    float *d_y = device_zeros<float>(4 * (size_t)n);

    const int threads = 128;
    spmv_bsr<<<(4 * n + threads - 1) / threads, threads>>>(A, d_x, d_y);
    finish_launches();

    return verdict(sampled_error(from_device(d_y, 4 * (size_t)n), [&](size_t row) {
        float sum = 0.0f;
        for (size_t b = row_ptr[row / 4]; b < (size_t)row_ptr[row / 4 + 1]; b++)
            for (size_t c = 0; c < 4; c++)
                sum += values[16 * b + 4 * (row % 4) + c] * x[4 * (size_t)col_idx[b] + c];
        return sum;
    }));
}

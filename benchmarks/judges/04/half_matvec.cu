// y = A^T x for a half-precision matrix of 512 rows and 2 n columns: a thread walks down two
// columns and adds in single precision.
//
//     nvcc -O2 -o half_matvec half_matvec.cu && ./half_matvec 10000

#include <cuda_fp16.h>

#include "../judge.h"

#define ROWS 512

__global__ void half_matvec(int rows, int pairs, const __half2 *matrix, const __half *x,
                            float2 *y) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= pairs) return;
    float2 sum = make_float2(0.0f, 0.0f);
    for (int row = 0; row < rows; row++) {
        const float2 entry = __half22float2(matrix[row * pairs + j]);
        const float factor = __half2float(x[row]);
        sum.x += entry.x * factor;
        sum.y += entry.y * factor;
    }
    y[j] = sum;
}

int main(int argc, char **argv) {
    const int pairs = size_argument(argc, argv, 100, 1 << 21);
    const size_t columns = 2 * (size_t)pairs;
    std::vector<__half> matrix, x;
    for (const float value : fixed_values(ROWS * columns, 1)) matrix.push_back(__float2half(value));
    for (const float value : fixed_values(ROWS, 2)) x.push_back(__float2half(value));
    const __half *device_matrix = to_device(matrix), *device_x = to_device(x);
    float *device_y = to_device(std::vector<float>(columns));

    const int threads = 256;
    half_matvec<<<(pairs + threads - 1) / threads, threads>>>(
        ROWS, pairs, (const __half2 *)device_matrix, device_x, (float2 *)device_y);
    finish_launches();

    return verdict(sampled_error(from_device(device_y, columns), [&](size_t column) {
        double sum = 0.0;
        for (size_t row = 0; row < ROWS; row++)
            sum += __half2float(matrix[row * columns + column]) * __half2float(x[row]);
        return sum;
    }));
}

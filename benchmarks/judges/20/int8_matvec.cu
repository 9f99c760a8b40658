// Large language models on small machines: a matrix of n rows of 4096 weights of eight bits, times
// a vector of eight bits, with a scale per row. A warp per row, eight rows per block.
//
//     nvcc -O2 -o int8_matvec int8_matvec.cu && ./int8_matvec 4096

#include "../host.h"

#define COLUMNS 4096

__global__ void rows_times_vector(const int4 *__restrict__ weights, const int4 *__restrict__ vector,
                                  const float *__restrict__ scales, float *__restrict__ results,
                                  int rows) {
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    const int4 *own = weights + (size_t)row * (COLUMNS / 16);
    int sum = 0;
    for (int i = threadIdx.x; i < COLUMNS / 16; i += 32) {
        const int4 w = own[i], v = vector[i];
        sum = __dp4a(w.x, v.x, sum);
        sum = __dp4a(w.y, v.y, sum);
        sum = __dp4a(w.z, v.z, sum);
        sum = __dp4a(w.w, v.w, sum);
    }
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if (threadIdx.x == 0) results[row] = sum * scales[row];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 20, 500000);
    const std::vector<int8_t> weights = quick_bits<int8_t>((size_t)n * COLUMNS, 2171);
    const std::vector<int8_t> vector = quick_bits<int8_t>(COLUMNS, 2172);
    const std::vector<float> scales = quick_values(n, 2173);
    const int8_t *d_weights = to_device(weights), *d_vector = to_device(vector);
    const float *d_scales = to_device(scales);
    float *d_results = device_zeros<float>(n);

    dim3 block(32, 8);
    rows_times_vector<<<(n + 7) / 8, block>>>((const int4 *)d_weights, (const int4 *)d_vector,
                                              d_scales, d_results, n);
    finish_launches();

    const std::vector<float> results = from_device(d_results, n);
    return verdict(sampled_error(results, [&](size_t row) {
        int sum = 0;
        for (int i = 0; i < COLUMNS; i++) sum += weights[row * COLUMNS + i] * vector[i];
        return sum * scales[row];
    }));
}

// Layer normalisation of n rows of 1024, a block of 256 threads per row: sums by shuffles, then over
// eight slots; weights and shifts are the same for all rows.
//
//     nvcc -O2 -o layernorm_fixed layernorm_fixed.cu && ./layernorm_fixed 8192

#include "../host.h"

#define THREADS 256
#define COLUMNS 1024
#define EACH (COLUMNS / THREADS)

__device__ float summed(float value, float *slots) {
    for (int reach = 16; reach > 0; reach /= 2) value += __shfl_xor_sync(~0u, value, reach);
    if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = value;
    __syncthreads();
    float sum = 0.0f;
    for (int warp = 0; warp < THREADS / 32; warp++) sum += slots[warp];
    return sum;
}

__global__ void normalised(const float *in, const float *weights, const float *shifts, float *out,
                           int rows) {
    __shared__ float first[THREADS / 32], second[THREADS / 32];
    const size_t start = (size_t)blockIdx.x * COLUMNS;
    float own[EACH], sum = 0.0f, squares = 0.0f;
    for (int j = 0; j < EACH; j++) {
        own[j] = in[start + j * THREADS + threadIdx.x];
        sum += own[j];
    }
    const float mean = summed(sum, first) / COLUMNS;
    for (int j = 0; j < EACH; j++) squares += (own[j] - mean) * (own[j] - mean);
    const float scale = rsqrtf(summed(squares, second) / COLUMNS + 1e-5f);
    for (int j = 0; j < EACH; j++) {
        const int c = j * THREADS + threadIdx.x;
        out[start + c] = (own[j] - mean) * scale * weights[c] + shifts[c];
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 16, 100000);
    const size_t count = (size_t)n * COLUMNS;
    const std::vector<float> in = quick_values(count, 1920);
    const std::vector<float> weights = quick_values(COLUMNS, 1921), shifts = quick_values(COLUMNS, 1922);
    const float *d_in = to_device(in), *d_weights = to_device(weights), *d_shifts = to_device(shifts);
    float *d_out = device_zeros<float>(count);

    normalised<<<n, THREADS>>>(d_in, d_weights, d_shifts, d_out, n);
    finish_launches();

    return verdict(sampled_error(from_device(d_out, count), [&](size_t e) {
        const float *row = in.data() + e / COLUMNS * COLUMNS;
        double mean = 0.0, squares = 0.0;
        for (int c = 0; c < COLUMNS; c++) mean += row[c] / (double)COLUMNS;
        for (int c = 0; c < COLUMNS; c++) squares += (row[c] - mean) * (row[c] - mean);
        const size_t c = e % COLUMNS;
        return (row[c] - mean) / sqrt(squares / COLUMNS + 1e-5) * weights[c] + shifts[c];
    }));
}

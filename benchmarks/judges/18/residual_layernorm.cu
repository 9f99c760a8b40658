// A residual is added to n tokens of 1024 channels and the sum is normalised, fused: a block per
// token, the row in shared memory between the passes.
//
//     nvcc -O2 -o residual_layernorm residual_layernorm.cu && ./residual_layernorm 16384

#include "checksum.h"

#define HIDDEN 1024
#define EPSILON 1e-5f

__device__ float sum_over_block(float value, float *slots) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, offset);
    __syncthreads();
    if (lane == 0) slots[warp] = value;
    __syncthreads();
    value = lane < warps ? slots[lane] : 0.0f;
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, offset);
    return value;
}

__global__ void residual_layernorm(const float *__restrict__ x, float *__restrict__ residual,
                                   const float *__restrict__ gamma,
                                   const float *__restrict__ beta, float *__restrict__ normed) {
    __shared__ float row[HIDDEN];
    __shared__ float slots[32];
    const size_t base = (size_t)blockIdx.x * HIDDEN;

    float sum = 0.0f;
    for (int c = threadIdx.x; c < HIDDEN; c += blockDim.x) {
        const float v = x[base + c] + residual[base + c];
        row[c] = v;
        residual[base + c] = v;
        sum += v;
    }
    const float mean = sum_over_block(sum, slots) * (1.0f / HIDDEN);
    float squares = 0.0f;
    for (int c = threadIdx.x; c < HIDDEN; c += blockDim.x) {
        const float d = row[c] - mean;
        squares += d * d;
    }
    const float scale = rsqrtf(sum_over_block(squares, slots) * (1.0f / HIDDEN) + EPSILON);
    for (int c = threadIdx.x; c < HIDDEN; c += blockDim.x)
        normed[base + c] = (row[c] - mean) * scale * gamma[c] + beta[c];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 8, 800000);
    const size_t count = (size_t)n * HIDDEN;
    const std::vector<float> x = quick_values(count, 1833), residual = quick_values(count, 1834);
    const std::vector<float> gamma = quick_values(HIDDEN, 1835), beta = quick_values(HIDDEN, 1836);
    const float *d_x = to_device(x), *d_gamma = to_device(gamma), *d_beta = to_device(beta);
    float *d_residual = to_device(residual), *d_normed = device_zeros<float>(count);

    residual_layernorm<<<n, 256>>>(d_x, d_residual, d_gamma, d_beta, d_normed);
    finish_launches();

    const std::vector<float> sums = from_device(d_residual, count);
    const double sums_error = sampled_error(sums, [&](size_t e) { return x[e] + residual[e]; });
    const std::vector<float> normed = from_device(d_normed, count);
    const double error = sampled_error(normed, [&](size_t e) {
        const float *row = sums.data() + e / HIDDEN * HIDDEN;
        double mean = 0.0, variance = 0.0;
        for (int c = 0; c < HIDDEN; c++) mean += row[c];
        mean /= HIDDEN;
        for (int c = 0; c < HIDDEN; c++) variance += (row[c] - mean) * (row[c] - mean);
        const size_t c = e % HIDDEN;
        return (row[c] - mean) / sqrt(variance / HIDDEN + EPSILON) * gamma[c] + beta[c];
    });
    return report(checksum_of(sums) + checksum_of(normed), fmax(sums_error, error));
}

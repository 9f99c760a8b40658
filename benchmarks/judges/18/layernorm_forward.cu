// Layer normalisation of n tokens of 768 channels, a block per token; mean and reciprocal deviation
// are kept for the backward pass.
//
//     nvcc -O2 -o layernorm_forward layernorm_forward.cu && ./layernorm_forward 32768

#include "checksum.h"

#define CHANNELS 768
#define EPSILON 1e-5f

// The sum over the block, for all of its threads.
__device__ float block_sum(float value) {
    __shared__ float slots[32];
    __shared__ float total;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int offset = 16; offset > 0; offset >>= 1)
        value += __shfl_down_sync(0xffffffffu, value, offset);
    if (lane == 0) slots[warp] = value;
    __syncthreads();
    if (warp == 0) {
        value = lane < (int)(blockDim.x >> 5) ? slots[lane] : 0.0f;
        for (int offset = 16; offset > 0; offset >>= 1)
            value += __shfl_down_sync(0xffffffffu, value, offset);
        if (lane == 0) total = value;
    }
    __syncthreads();
    return total;
}

__global__ void layernorm_forward(float *__restrict__ out, float *__restrict__ means,
                                  float *__restrict__ rstds, const float *__restrict__ in,
                                  const float *__restrict__ weight,
                                  const float *__restrict__ bias, int channels) {
    const float *x = in + (size_t)blockIdx.x * channels;
    float *y = out + (size_t)blockIdx.x * channels;

    float sum = 0.0f;
    for (int c = threadIdx.x; c < channels; c += blockDim.x) sum += x[c];
    const float mean = block_sum(sum) / channels;

    float squares = 0.0f;
    for (int c = threadIdx.x; c < channels; c += blockDim.x) {
        const float difference = x[c] - mean;
        squares += difference * difference;
    }
    const float rstd = rsqrtf(block_sum(squares) / channels + EPSILON);

    if (threadIdx.x == 0) {
        means[blockIdx.x] = mean;
        rstds[blockIdx.x] = rstd;
    }
    for (int c = threadIdx.x; c < channels; c += blockDim.x)
        y[c] = (x[c] - mean) * rstd * weight[c] + bias[c];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 8, 1000000);
    const size_t count = (size_t)n * CHANNELS;
    const std::vector<float> in = quick_values(count, 1803);
    const std::vector<float> weight = quick_values(CHANNELS, 1804);
    const std::vector<float> bias = quick_values(CHANNELS, 1805);
    const float *d_in = to_device(in), *d_weight = to_device(weight), *d_bias = to_device(bias);
    float *d_out = device_zeros<float>(count);
    float *d_means = device_zeros<float>(n), *d_rstds = device_zeros<float>(n);

    layernorm_forward<<<n, 256>>>(d_out, d_means, d_rstds, d_in, d_weight, d_bias, CHANNELS);
    finish_launches();

    const std::vector<float> out = from_device(d_out, count);
    const std::vector<float> means = from_device(d_means, n), rstds = from_device(d_rstds, n);
    const double checksum = checksum_of(out) + checksum_of(means) + checksum_of(rstds);
    return report(checksum, sampled_error(out, [&](size_t e) {
        const float *row = in.data() + e / CHANNELS * CHANNELS;
        double mean = 0.0, variance = 0.0;
        for (int c = 0; c < CHANNELS; c++) mean += row[c];
        mean /= CHANNELS;
        for (int c = 0; c < CHANNELS; c++) variance += (row[c] - mean) * (row[c] - mean);
        const size_t c = e % CHANNELS;
        return (row[c] - mean) / sqrt(variance / CHANNELS + EPSILON) * weight[c] + bias[c];
    }));
}

// Attention: softmax of the scores of n requests that are served together. Each sees as many tokens
// as it has so far, up to 2048, and those that are far away less (a slope each). A block per row.
//
//     nvcc -O2 -o masked_softmax masked_softmax.cu && ./masked_softmax 1000

#include "../host.h"

#define TOKENS 2048

__device__ inline float over_block(float value, bool is_sum, float *slots) {
    for (int step = 16; step > 0; step /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, value, step);
        value = is_sum ? value + other : fmaxf(value, other);
    }
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    __syncthreads();
    if (lane == 0) slots[warp] = value;
    __syncthreads();
    value = slots[0];
    for (int other = 1; other < warps; other++)
        value = is_sum ? value + slots[other] : fmaxf(value, slots[other]);
    return value;
}

__global__ void softmax_rows(const float *__restrict__ scores, float *__restrict__ weights,
                             const int *__restrict__ lengths, const float *__restrict__ slopes,
                             float scale) {
    __shared__ float slots[32];
    const int own = lengths[blockIdx.x] - 1;
    const float slope = slopes[blockIdx.x];
    const float *row = scores + (size_t)blockIdx.x * TOKENS;
    float *out = weights + (size_t)blockIdx.x * TOKENS;
    float largest = -INFINITY;
    for (int i = threadIdx.x; i <= own; i += blockDim.x)
        largest = fmaxf(largest, row[i] * scale - slope * (own - i));
    largest = over_block(largest, false, slots);
    float sum = 0.0f;
    for (int i = threadIdx.x; i <= own; i += blockDim.x)
        sum += expf(row[i] * scale - slope * (own - i) - largest);
    sum = over_block(sum, true, slots);
    for (int i = threadIdx.x; i < TOKENS; i += blockDim.x)
        out[i] = i <= own ? expf(row[i] * scale - slope * (own - i) - largest) / sum : 0.0f;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 4, 400000);
    const size_t count = (size_t)n * TOKENS;
    const std::vector<float> scores = quick_values(count, 2121);
    std::vector<int> lengths(n);
    std::vector<float> slopes(n);
    for (int row = 0; row < n; row++) {
        const uint32_t bits = mixed(row + 2122u);
        lengths[row] = 1 + (int)(bits % TOKENS);
        slopes[row] = 0.01f / (1 + (bits >> 28));
    }
    const float scale = 4.0f;
    const float *d_scores = to_device(scores), *d_slopes = to_device(slopes);
    const int *d_lengths = to_device(lengths);
    float *d_weights = device_zeros<float>(count);

    softmax_rows<<<n, 256>>>(d_scores, d_weights, d_lengths, d_slopes, scale);
    finish_launches();

    const std::vector<float> weights = from_device(d_weights, count);
    double error = 0.0;
    for (int row = 0; row < n; row += n / 40 + 1) {
        const int own = lengths[row] - 1;
        const float *from = scores.data() + (size_t)row * TOKENS;
        const double slope = slopes[row];
        double sum = 0.0, largest = 0.0;
        for (int i = 0; i <= own; i++) sum += exp(from[i] * scale - slope * (own - i));
        std::vector<double> wanted(TOKENS, 0.0);
        for (int i = 0; i <= own; i++) {
            wanted[i] = exp(from[i] * scale - slope * (own - i)) / sum;
            largest = fmax(largest, wanted[i]);
        }
        for (int i = 0; i < TOKENS; i++)
            error = fmax(error, fabs(weights[(size_t)row * TOKENS + i] - wanted[i]) / largest);
    }
    return verdict(error);
}

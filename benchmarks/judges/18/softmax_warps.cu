// Scaled softmax of n rows of 4096 attention scores, a block per row: warps reduce by shuffles and
// leave a slot each, which every warp reduces again.
//
//     nvcc -O2 -o softmax_warps softmax_warps.cu && ./softmax_warps 8192

#include "checksum.h"

#define COLUMNS 4096
#define SCALE 0.125f

__device__ float warp_max(float value) {
    for (int offset = 16; offset > 0; offset /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
    return value;
}

__device__ float warp_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, offset);
    return value;
}

__global__ void attention_softmax(const float *__restrict__ scores, float *__restrict__ weights,
                                  int columns, float scale) {
    __shared__ float maxima[32];
    __shared__ float sums[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const float *in = scores + (size_t)blockIdx.x * columns;
    float *out = weights + (size_t)blockIdx.x * columns;

    float largest = -INFINITY;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) largest = fmaxf(largest, in[c]);
    largest = warp_max(largest);
    if (lane == 0) maxima[warp] = largest;
    __syncthreads();
    largest = warp_max(lane < warps ? maxima[lane] : -INFINITY);

    float sum = 0.0f;
    for (int c = threadIdx.x; c < columns; c += blockDim.x)
        sum += __expf((in[c] - largest) * scale);
    sum = warp_sum(sum);
    if (lane == 0) sums[warp] = sum;
    __syncthreads();
    sum = warp_sum(lane < warps ? sums[lane] : 0.0f);

    for (int c = threadIdx.x; c < columns; c += blockDim.x)
        out[c] = __expf((in[c] - largest) * scale) / sum;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 4, 250000);
    const size_t count = (size_t)n * COLUMNS;
    std::vector<float> scores = quick_values(count, 1802);
    for (float &score : scores) score = 40.0f * score - 20.0f;
    const float *d_scores = to_device(scores);
    float *d_weights = device_zeros<float>(count);

    attention_softmax<<<n, 512>>>(d_scores, d_weights, COLUMNS, SCALE);
    finish_launches();

    const std::vector<float> weights = from_device(d_weights, count);
    return report(checksum_of(weights), sampled_error(weights, [&](size_t e) {
        const float *row = scores.data() + e / COLUMNS * COLUMNS;
        double sum = 0.0;
        for (int c = 0; c < COLUMNS; c++) sum += exp((double)row[c] * SCALE);
        return exp((double)row[e % COLUMNS] * SCALE) / sum;
    }));
}

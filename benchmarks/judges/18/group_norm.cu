// Group normalisation of n images of 320 channels of 32 x 32, 32 groups of 10 channels, a block per
// group of an image: sum and sum of squares in one pass.
//
//     nvcc -O2 -o group_norm group_norm.cu && ./group_norm 64

#include "checksum.h"

#define CHANNELS 320
#define GROUPS 32
#define PIXELS 1024
#define IN_GROUP (CHANNELS / GROUPS * PIXELS)
#define EPSILON 1e-5f

__global__ void group_norm(const float *__restrict__ x, const float *__restrict__ gamma,
                           const float *__restrict__ beta, float *__restrict__ y) {
    __shared__ float2 slots[32];
    const int group = blockIdx.x, image = blockIdx.y;
    const size_t base = ((size_t)image * GROUPS + group) * IN_GROUP;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    float sum = 0.0f, squares = 0.0f;
    for (int i = threadIdx.x; i < IN_GROUP; i += blockDim.x) {
        const float v = x[base + i];
        sum += v;
        squares += v * v;
    }
    for (int offset = 16; offset > 0; offset >>= 1) {
        sum += __shfl_xor_sync(0xffffffffu, sum, offset);
        squares += __shfl_xor_sync(0xffffffffu, squares, offset);
    }
    if (lane == 0) slots[warp] = make_float2(sum, squares);
    __syncthreads();
    sum = squares = 0.0f;
    for (int w = 0; w < blockDim.x / 32; w++) {
        sum += slots[w].x;
        squares += slots[w].y;
    }
    const float mean = sum / IN_GROUP;
    const float scale = rsqrtf(squares / IN_GROUP - mean * mean + EPSILON);

    for (int i = threadIdx.x; i < IN_GROUP; i += blockDim.x) {
        const int channel = group * (CHANNELS / GROUPS) + i / PIXELS;
        y[base + i] = (x[base + i] - mean) * scale * gamma[channel] + beta[channel];
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1, 6000);
    const size_t count = (size_t)n * CHANNELS * PIXELS;
    std::vector<float> x = quick_values(count, 1822);
    for (size_t i = 0; i < count; i++) x[i] -= 0.1f * (float)(i / IN_GROUP % 7);
    const std::vector<float> gamma = quick_values(CHANNELS, 1823);
    const std::vector<float> beta = quick_values(CHANNELS, 1824);
    const float *d_x = to_device(x), *d_gamma = to_device(gamma), *d_beta = to_device(beta);
    float *d_y = device_zeros<float>(count);

    group_norm<<<dim3(GROUPS, n), 512>>>(d_x, d_gamma, d_beta, d_y);
    finish_launches();

    const std::vector<float> y = from_device(d_y, count);
    return report(checksum_of(y), sampled_error(y, [&](size_t e) {
        const float *group = x.data() + e / IN_GROUP * IN_GROUP;
        double mean = 0.0, variance = 0.0;
        for (int i = 0; i < IN_GROUP; i++) mean += group[i];
        mean /= IN_GROUP;
        for (int i = 0; i < IN_GROUP; i++) variance += (group[i] - mean) * (group[i] - mean);
        const size_t channel = e / PIXELS % CHANNELS;
        return (x[e] - mean) / sqrt(variance / IN_GROUP + EPSILON) * gamma[channel] + beta[channel];
    }));
}

// A layer's bias and the GELU activation, for n tokens of 3072 features in half precision, two
// features per thread.
//
//     nvcc -O2 -o bias_gelu bias_gelu.cu && ./bias_gelu 1000

#include "../judge.h"

#include <cuda_fp16.h>

#define FEATURES 3072

__host__ __device__ inline float gelu(float x) {
    return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
}

__global__ void bias_gelu(int pairs, const __half2 *bias, __half2 *activations) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pairs) return;
    const float2 x = __half22float2(__hadd2(activations[i], bias[i % (FEATURES / 2)]));
    activations[i] = __floats2half2_rn(gelu(x.x), gelu(x.y));
}

static std::vector<__half> halves(size_t count, unsigned seed) {
    const std::vector<float> numbers = fixed_values(count, seed);
    std::vector<__half> values(count);
    for (size_t e = 0; e < count; e++) values[e] = __float2half(4.0f * numbers[e] - 2.0f);
    return values;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 50, 1 << 18);
    const size_t count = (size_t)n * FEATURES;
    const std::vector<__half> bias = halves(FEATURES, 1), inputs = halves(count, 2);
    const __half *device_bias = to_device(bias);
    __half *device_activations = to_device(inputs);

    const int pairs = (int)(count / 2);
    const int threads = 256;
    bias_gelu<<<(pairs + threads - 1) / threads, threads>>>(
        pairs, (const __half2 *)device_bias, (__half2 *)device_activations);
    finish_launches();

    // A sum that is nearly in the middle may be rounded to either side.
    const std::vector<__half> found = from_device(device_activations, count);
    std::vector<float> near(count);
    for (size_t e = 0; e < count; e++) {
        const float sum = __half2float(inputs[e]) + __half2float(bias[e % FEATURES]);
        const float expected = gelu(__half2float(__float2half(sum)));
        near[e] = fabs(__half2float(found[e]) - expected) <= 1e-3f * fabs(expected) + 1e-5f;
    }
    return verdict(sampled_error(near, [](size_t) { return 1.0f; }));
}

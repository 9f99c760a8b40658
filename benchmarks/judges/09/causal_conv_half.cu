// The short convolution before a state-space layer, in half precision: each of 1536 channels of a
// sequence of n tokens is convolved with its own four weights, then multiplied by its sigmoid.
// Two channels per thread.
//
//     nvcc -O2 -o causal_conv_half causal_conv_half.cu && ./causal_conv_half 1000

#include <cuda_fp16.h>

#include "../host.h"

#define CHANNELS 1536
#define TAPS 4

__host__ __device__ inline float silu(float x) { return x / (1.0f + expf(-x)); }

__global__ void causal_conv(const __half2 *__restrict__ tokens, const float2 *__restrict__ weights,
                            const float2 *__restrict__ bias, __half2 *__restrict__ out,
                            int pairs, int count) {
    int pair = blockIdx.x * blockDim.x + threadIdx.x;
    int token = blockIdx.y * blockDim.y + threadIdx.y;
    if (pair >= pairs || token >= count) return;
    float2 sum = bias[pair];
    for (int tap = 0; tap < TAPS; tap++) {
        int from = token - tap;
        if (from < 0) break;
        float2 value = __half22float2(tokens[(size_t)from * pairs + pair]);
        float2 weight = weights[tap * pairs + pair];
        sum.x += weight.x * value.x;
        sum.y += weight.y * value.y;
    }
    out[(size_t)token * pairs + pair] = __floats2half2_rn(silu(sum.x), silu(sum.y));
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 8, 1 << 19);
    const size_t count = (size_t)n * CHANNELS;
    // Without the upper bit of its exponent a half is between -2 and 2.
    std::vector<unsigned short> bits = quick_bits<unsigned short>(count, 1);
    for (unsigned short &value : bits) value &= 0xbfff;
    const std::vector<float> weights = quick_values(TAPS * CHANNELS, 2);
    const std::vector<float> bias = quick_values(CHANNELS, 3);
    const __half2 *d_tokens = (const __half2 *)to_device(bits);
    const float2 *d_weights = (const float2 *)to_device(weights);
    const float2 *d_bias = (const float2 *)to_device(bias);
    __half *d_out = device_zeros<__half>(count);

    const int pairs = CHANNELS / 2;
    dim3 block(64, 4);
    dim3 grid((pairs + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    causal_conv<<<grid, block>>>(d_tokens, d_weights, d_bias, (__half2 *)d_out, pairs, n);
    finish_launches();

    const auto expected = [&](size_t e) {
        const size_t channel = e % CHANNELS;
        float sum = bias[channel];
        for (size_t tap = 0; tap < TAPS && tap <= e / CHANNELS; tap++) {
            __half value;
            memcpy(&value, &bits[e - tap * CHANNELS], sizeof(value));
            sum += weights[tap * CHANNELS + channel] * __half2float(value);
        }
        return silu(sum);
    };
    // The output has eleven bits: a difference of one in the last is no error.
    const std::vector<__half> out = from_device(d_out, count);
    std::vector<float> beyond(1000);
    for (size_t s = 0; s < beyond.size(); s++) {
        const size_t e = s * (count / beyond.size());
        const float wanted = expected(e), difference = fabsf(__half2float(out[e]) - wanted);
        beyond[s] = fmaxf(difference - 0.001f * fabsf(wanted) - 1e-6f, 0.0f);
    }
    return verdict(sampled_error(beyond, [](size_t) { return 0.0f; }));
}

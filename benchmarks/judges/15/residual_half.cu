// The end of a layer of a network in half precision: n tokens of 1024 channels get their bias, a
// squared ReLU and the scaled residual stream, which is updated in place.
//
//     nvcc -O2 -o residual_half residual_half.cu && ./residual_half 4000

#include "../host.h"

#include <cuda_fp16.h>

#define CHANNELS 1024

__global__ void residual_half(int tokens, const __half *layer, const __half *bias,
                              const __half *scale, __half *stream) {
    const int channel = blockIdx.x * blockDim.x + threadIdx.x;
    const int token = blockIdx.y * blockDim.y + threadIdx.y;
    if (channel >= CHANNELS || token >= tokens) return;
    const int at = token * CHANNELS + channel;
    const float active = fmaxf(__half2float(layer[at]) + __half2float(bias[channel]), 0.0f);
    const float old = __half2float(stream[at]) * __half2float(scale[channel]);
    stream[at] = __float2half(fmaf(active, active, old));
}

static std::vector<__half> halves(size_t count, uint32_t seed) {
    const std::vector<float> values = quick_values(count, seed);
    std::vector<__half> result(count);
    for (size_t i = 0; i < count; i++) result[i] = __float2half(values[i] - 0.5f);
    return result;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 100, 200000);
    const size_t count = (size_t)n * CHANNELS;
    const std::vector<__half> layer = halves(count, 1), stream = halves(count, 2);
    const std::vector<__half> bias = halves(CHANNELS, 3), scale = halves(CHANNELS, 4);
    __half *device_layer = to_device(layer), *device_stream = to_device(stream);
    __half *device_bias = to_device(bias), *device_scale = to_device(scale);

    const dim3 block(64, 4);
    const dim3 grid(blocks_for(CHANNELS, block.x), blocks_for(n, block.y));
    residual_half<<<grid, block>>>(n, device_layer, device_bias, device_scale, device_stream);
    finish_launches();

    const std::vector<__half> result = from_device(device_stream, count);
    std::vector<float> found(count);
    for (size_t i = 0; i < count; i++) found[i] = __half2float(result[i]);
    return verdict(sampled_error(found, [&](size_t e) {
        const size_t channel = e % CHANNELS;
        const float active = fmaxf(__half2float(layer[e]) + __half2float(bias[channel]), 0.0f);
        const float old = __half2float(stream[e]) * __half2float(scale[channel]);
        return __half2float(__float2half(fmaf(active, active, old)));
    }));
}

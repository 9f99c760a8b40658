// Depthwise 3 x 3 convolution of n x n pixels with 96 channels in half precision, channels last,
// with a bias and a clipped ramp, as in networks for telephones. Two channels per thread.
//
//     nvcc -O2 -o depthwise_nhwc depthwise_nhwc.cu && ./depthwise_nhwc 224

#include <cuda_fp16.h>

#include "../host.h"

#define CHANNELS 96

__global__ void depthwise_nhwc(const __half2 *__restrict__ in, const __half2 *__restrict__ weights,
                               const float2 *__restrict__ bias, __half2 *__restrict__ out,
                               int width, int height, int pairs) {
    const int pair = blockIdx.x * blockDim.x + threadIdx.x;
    const int x = blockIdx.y * blockDim.y + threadIdx.y;
    const int y = blockIdx.z * blockDim.z + threadIdx.z;
    if (pair >= pairs || x >= width || y >= height) return;
    float2 sum = bias[pair];
    for (int r = 0; r < 3; r++) {
        const int row = y + r - 1;
        if (row < 0 || row >= height) continue;
        for (int c = 0; c < 3; c++) {
            const int column = x + c - 1;
            if (column < 0 || column >= width) continue;
            const float2 value = __half22float2(in[((size_t)row * width + column) * pairs + pair]);
            const float2 weight = __half22float2(weights[(3 * r + c) * pairs + pair]);
            sum.x += value.x * weight.x;
            sum.y += value.y * weight.y;
        }
    }
    out[((size_t)y * width + x) * pairs + pair] =
        __floats2half2_rn(fminf(fmaxf(sum.x, 0.0f), 6.0f), fminf(fmaxf(sum.y, 0.0f), 6.0f));
}

// Halves between 0.5 and 1 or between -1 and -0.5.
static std::vector<__half> quick_halves(size_t count, uint32_t seed) {
    std::vector<uint16_t> bits = quick_bits<uint16_t>(count, seed);
    std::vector<__half> halves(count);
    for (uint16_t &one : bits) one = (uint16_t)((one & 0x83ff) | 0x3800);
    memcpy((void *)halves.data(), bits.data(), count * sizeof(__half));
    return halves;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 32, 4000);
    const size_t count = (size_t)n * n * CHANNELS;
    const std::vector<__half> in = quick_halves(count, 1), weights = quick_halves(9 * CHANNELS, 2);
    const std::vector<float> bias = quick_values(CHANNELS, 3);
    const __half *d_in = to_device(in), *d_weights = to_device(weights);
    const float *d_bias = to_device(bias);
    __half *d_out = device_zeros<__half>(count);

    const int pairs = CHANNELS / 2;
    dim3 block(32, 8, 1);
    dim3 grid((pairs + block.x - 1) / block.x, (n + block.y - 1) / block.y, n);
    depthwise_nhwc<<<grid, block>>>((const __half2 *)d_in, (const __half2 *)d_weights,
                                    (const float2 *)d_bias, (__half2 *)d_out, n, n, pairs);
    finish_launches();

    const std::vector<__half> halves = from_device(d_out, count);
    const size_t step = count / 1000 + 1;
    std::vector<float> found;
    for (size_t e = 0; e < count; e += step) found.push_back(__half2float(halves[e]));
    return verdict(sampled_error(found, [&](size_t sample) {
        const size_t e = sample * step;
        const int channel = (int)(e % CHANNELS), x = (int)(e / CHANNELS % n);
        const int y = (int)(e / CHANNELS / n);
        float sum = bias[channel];
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++) {
                const int row = y + r - 1, column = x + c - 1;
                if (row < 0 || row >= n || column < 0 || column >= n) continue;
                sum += __half2float(in[((size_t)row * n + column) * CHANNELS + channel]) *
                       __half2float(weights[(3 * r + c) * CHANNELS + channel]);
            }
        return __half2float(__float2half(fminf(fmaxf(sum, 0.0f), 6.0f)));
    }));
}

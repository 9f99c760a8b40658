// Neural networks: features of n samples, 96 channels of 28 x 28 halves, times a factor plus a
// shift of their own for each sample and channel, then zero for what is negative.
//
//     nvcc -O2 -o half_film half_film.cu && ./half_film 40

#include <cuda_fp16.h>

#include "summed.h"

constexpr int kChannels = 96;
constexpr int kPixels = 28 * 28;

template <typename T>
__global__ void film_relu(const T *__restrict__ x, const T *__restrict__ gamma,
                          const T *__restrict__ beta, T *__restrict__ y, int pixels) {
    const int p = blockIdx.x * blockDim.x + threadIdx.x;
    const int plane = blockIdx.z * gridDim.y + blockIdx.y;
    if (p >= pixels) return;
    const size_t i = (size_t)plane * pixels + p;
    const float v =
        __half2float(x[i]) * __half2float(gamma[plane]) + __half2float(beta[plane]);
    y[i] = __float2half(v > 0.0f ? v : 0.0f);
}

static std::vector<uint16_t> halves(size_t count, uint32_t seed) {
    std::vector<uint16_t> bits = quick_bits<uint16_t>(count, seed);
    for (uint16_t &half : bits) half = (uint16_t)((half & 0x83ffu) | 0x3800u);
    return bits;
}

static float value(uint16_t bits) {
    __half_raw raw;
    raw.x = bits;
    return __half2float(__half(raw));
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 2, 20000);
    const size_t planes = (size_t)n * kChannels, count = planes * kPixels;
    const std::vector<uint16_t> x = halves(count, 2401), gamma = halves(planes, 2402),
                                beta = halves(planes, 2403);
    const __half *d_x = (const __half *)to_device(x), *d_gamma = (const __half *)to_device(gamma),
                 *d_beta = (const __half *)to_device(beta);
    uint16_t *d_y = device_zeros<uint16_t>(count);

    const dim3 threads(256);
    const dim3 grid((kPixels + threads.x - 1) / threads.x, kChannels, n);
    film_relu<__half><<<grid, threads>>>(d_x, d_gamma, d_beta, (__half *)d_y, kPixels);
    finish_launches();

    const std::vector<uint16_t> bits = from_device(d_y, count);
    std::vector<float> y(count);
    for (size_t i = 0; i < count; i++) y[i] = value(bits[i]);
    say_sum("features", y);
    const double error = sampled_error(y, [&](size_t e) {
        const float v = value(x[e]) * value(gamma[e / kPixels]) + value(beta[e / kPixels]);
        return v > 0.0f ? v : 0.0f;
    });
    return verdict(error < 1e-3 ? 0.0 : error);
}

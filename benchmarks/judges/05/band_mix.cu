// Colours from a satellite image of n pixels: twelve bands of 16 bits, a plane for each, mixed to
// red, green and blue by a matrix in constant memory.
//
//     nvcc -O2 -o band_mix band_mix.cu && ./band_mix 100000

#include "../host.h"

#define BANDS 12

__constant__ float mix[3][BANDS];
__constant__ float offset[BANDS];

__global__ void band_mix(const unsigned short *bands, float *rgb, int pixels) {
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p < pixels) {
        float r = 0.0f, g = 0.0f, b = 0.0f;
        for (int band = 0; band < BANDS; band++) {
            float value = fmaxf(bands[(size_t)band * pixels + p] * 1.0e-4f - offset[band], 0.0f);
            r += mix[0][band] * value;
            g += mix[1][band] * value;
            b += mix[2][band] * value;
        }
        rgb[p] = r;
        rgb[(size_t)pixels + p] = g;
        rgb[2 * (size_t)pixels + p] = b;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 200000000);
    const std::vector<unsigned short> bands = quick_bits<unsigned short>((size_t)n * BANDS, 1);
    const std::vector<float> weights = fixed_values(3 * BANDS, 2), haze = fixed_values(BANDS, 3);
    CHECK(cudaMemcpyToSymbol(mix, weights.data(), sizeof(mix)));
    CHECK(cudaMemcpyToSymbol(offset, haze.data(), sizeof(offset)));
    const unsigned short *d_bands = to_device(bands);
    float *d_rgb = device_zeros<float>(3 * (size_t)n);

    const dim3 block(128);
    const dim3 grid((n + block.x - 1) / block.x);
    band_mix<<<grid, block>>>(d_bands, d_rgb, n);
    finish_launches();

    return verdict(sampled_error(from_device(d_rgb, 3 * (size_t)n), [&](size_t e) {
        const size_t colour = e / n, p = e % n;
        float sum = 0.0f;
        for (size_t band = 0; band < BANDS; band++) {
            const float value = bands[band * n + p] * 1.0e-4f - haze[band];
            sum += weights[colour * BANDS + band] * fmaxf(value, 0.0f);
        }
        return sum;
    }));
}

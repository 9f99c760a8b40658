// Remote sensing: the counts of a spectrometer, 64 bands of n pixels each, become reflectances. A
// thread does all bands of a pixel.
//
//     nvcc -O2 -o band_reflectance band_reflectance.cu && ./band_reflectance 100000

#include "../host.h"

#define BANDS 64

__global__ void band_reflectance(int n, const unsigned short *counts, const float *gain,
                                 const float *path, const float *sun, const float *cosine,
                                 float *reflectance) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int b = 0; b < BANDS; b++) {
        const float radiance = gain[b] * counts[b * n + i] - path[b];
        reflectance[b * n + i] = radiance / (sun[b] * cosine[i]);
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 2000, 30000000);
    const size_t count = (size_t)n * BANDS;
    const auto counts = quick_bits<unsigned short>(count, 1);
    std::vector<float> gain = quick_values(BANDS, 2), path = quick_values(BANDS, 3);
    std::vector<float> sun = quick_values(BANDS, 4), cosine = quick_values(n, 5);
    for (float &value : gain) value = 0.01f + 0.001f * value;
    for (float &value : sun) value += 1.0f;
    for (float &value : cosine) value = 0.5f + 0.5f * value;
    unsigned short *device_counts = to_device(counts);
    float *device_gain = to_device(gain), *device_path = to_device(path);
    float *device_sun = to_device(sun), *device_cosine = to_device(cosine);
    float *reflectance = device_zeros<float>(count);

    const int threads = 256;
    band_reflectance<<<blocks_for(n, threads), threads>>>(
        n, device_counts, device_gain, device_path, device_sun, device_cosine, reflectance);
    finish_launches();

    return verdict(sampled_error(from_device(reflectance, count), [&](size_t e) {
        const size_t band = e / n;
        const double radiance = (double)gain[band] * counts[e] - path[band];
        return radiance / (sun[band] * (double)cosine[e % n]);
    }));
}

// Search for pulsars: for each of 128 dispersions the sum over 128 channels of a telescope, each
// delayed by as much as it would be, at n times. Samples are bytes, a row per channel.
//
//     nvcc -O2 -o dedisperse dedisperse.cu && ./dedisperse 10000

#include "../host.h"

#define CHANNELS 128
#define DISPERSIONS 128
#define LONGEST 1024

__constant__ float delays[CHANNELS];

__global__ void dedisperse(const unsigned char *__restrict__ samples, int pitch,
                           float *__restrict__ out, int times, int dispersions) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    const int dispersion = blockIdx.y * blockDim.y + threadIdx.y;
    if (t >= times || dispersion >= dispersions) return;
    int sum = 0;
    for (int c = 0; c < CHANNELS; c++) {
        const int delay = (int)((float)dispersion * delays[c]);
        sum += samples[(size_t)c * pitch + t + delay];
    }
    out[(size_t)dispersion * times + t] = (float)sum * (1.0f / CHANNELS);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1 << 22);
    const int pitch = n + LONGEST;
    const size_t count = (size_t)n * DISPERSIONS;
    const std::vector<unsigned char> samples =
        quick_bits<unsigned char>((size_t)pitch * CHANNELS, 1);
    // Delays grow with the inverse square of the frequency, to 1000 samples at most.
    float delay[CHANNELS];
    for (int c = 0; c < CHANNELS; c++) {
        const float frequency = 1.0f - 0.4f * (float)c / (float)(CHANNELS - 1);
        delay[c] = 7.8f * (1.0f / (frequency * frequency) - 1.0f) / 1.7777779f;
    }
    CHECK(cudaMemcpyToSymbol(delays, delay, sizeof delay));
    const unsigned char *d_samples = to_device(samples);
    float *d_out = device_zeros<float>(count);

    dim3 block(64, 4);
    dim3 grid((n + block.x - 1) / block.x, (DISPERSIONS + block.y - 1) / block.y);
    dedisperse<<<grid, block>>>(d_samples, pitch, d_out, n, DISPERSIONS);
    finish_launches();

    return verdict(sampled_error(from_device(d_out, count), [&](size_t e) {
        const int t = (int)(e % n), dispersion = (int)(e / n);
        int sum = 0;
        for (int c = 0; c < CHANNELS; c++)
            sum += samples[(size_t)c * pitch + t + (int)((float)dispersion * delay[c])];
        return (float)sum * (1.0f / CHANNELS);
    }));
}

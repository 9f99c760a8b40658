// Radio astronomy: complex samples of 24 beams in 64 channels change their order, from time fastest
// to channels fastest, n times.
//
//     nvcc -O2 -o corner_turn corner_turn.cu && ./corner_turn 700

#include "summed.h"

static const int BEAMS = 24, CHANNELS = 64;

// in[beam][channel][time] to out[time][beam][channel]
__global__ void corner_turn_kernel(const float2 *in, float2 *out, int times, int channels,
                                   int beams) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int c = blockIdx.y * blockDim.y + threadIdx.y;
    int b = blockIdx.z * blockDim.z + threadIdx.z;
    if (t < times && c < channels && b < beams)
        out[(t * beams + b) * channels + c] = in[(b * channels + c) * times + t];
}

int main(int argc, char **argv) {
    const int times = size_argument(argc, argv, 20, 100000);
    const size_t count = (size_t)times * BEAMS * CHANNELS;
    const std::vector<float> samples = quick_values(2 * count, 2261);
    const float *d_in = to_device(samples);
    float *d_out = device_zeros<float>(2 * count);

    dim3 block(32, 4, 2);
    dim3 grid((times + 31) / 32, (CHANNELS + 3) / 4, (BEAMS + 1) / 2);
    corner_turn_kernel<<<grid, block>>>((const float2 *)d_in, (float2 *)d_out, times, CHANNELS,
                                        BEAMS);
    finish_launches();

    const std::vector<float> turned = from_device(d_out, 2 * count);
    double weighted = 0.0;
    for (size_t i = 0; i < turned.size(); i++) weighted += turned[i] * (double)(i % 1021);
    printf("checksum of turned: %.10g\n", weighted);
    return verdict(sampled_error(turned, [&](size_t e) {
        const size_t c = e / 2 % CHANNELS, b = e / 2 / CHANNELS % BEAMS,
                     t = e / 2 / CHANNELS / BEAMS;
        return samples[2 * ((b * CHANNELS + c) * times + t) + e % 2];
    }));
}

// An n x n image of 16 channels, each a plane of its own, with the channels of a pixel brought
// together, scaled and shifted on the way.
//
//     nvcc -O2 -o pack_channels pack_channels.cu && ./pack_channels 500

#include "../judge.h"

#define CHANNELS 16

__global__ void pack_channels(int width, int height, int channels, const float *scales,
                              const float *shifts, const float *planes, float *pixels) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int c = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < width && y < height && c < channels)
        pixels[(y * width + x) * channels + c] =
            planes[(c * height + y) * width + x] * scales[c] + shifts[c];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 50, 8192);
    const size_t plane = (size_t)n * n, count = plane * CHANNELS;
    const std::vector<float> planes = fixed_values(count, 1);
    const std::vector<float> scales = fixed_values(CHANNELS, 2), shifts = fixed_values(CHANNELS, 3);
    const float *device_planes = to_device(planes);
    const float *device_scales = to_device(scales), *device_shifts = to_device(shifts);
    float *device_pixels = to_device(std::vector<float>(count));

    const dim3 block(8, 8, 4);
    const dim3 grid(blocks_for(n, block.x), blocks_for(n, block.y), blocks_for(CHANNELS, block.z));
    pack_channels<<<grid, block>>>(n, n, CHANNELS, device_scales, device_shifts, device_planes,
                                   device_pixels);
    finish_launches();

    return verdict(sampled_error(from_device(device_pixels, count), [&](size_t e) {
        const size_t c = e % CHANNELS;
        return planes[c * plane + e / CHANNELS] * scales[c] + shifts[c];
    }));
}

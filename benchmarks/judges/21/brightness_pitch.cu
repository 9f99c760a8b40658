// Images: contrast and brightness of n x (3n/4 + 1) bytes in rows whose pitch is a multiple of 256.
//
//     nvcc -O2 -o brightness_pitch brightness_pitch.cu && ./brightness_pitch 1600

#include "checksum.h"

__global__ void adjust(const unsigned char *src, unsigned char *dst, int width, int height,
                       size_t pitch, float contrast, float brightness) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    const size_t offset = y * pitch + x;
    float v = contrast * (src[offset] - 128.0f) + 128.0f + brightness;
    v = v < 0.0f ? 0.0f : v;
    v = v > 255.0f ? 255.0f : v;
    dst[offset] = (unsigned char)v;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 50, 20000);
    const int width = n, height = 3 * n / 4 + 1;
    const size_t pitch = ((size_t)width + 255) / 256 * 256, count = pitch * height;
    const std::vector<unsigned char> src = quick_bits<unsigned char>(count, 2141);
    const unsigned char *d_src = to_device(src);
    unsigned char *d_dst = device_zeros<unsigned char>(count);

    dim3 block(32, 8);
    dim3 grid((width + 31) / 32, (height + 7) / 8);
    adjust<<<grid, block>>>(d_src, d_dst, width, height, pitch, 1.25f, 10.0f);
    finish_launches();

    const std::vector<unsigned char> dst = from_device(d_dst, count);
    print_checksum("dst", dst);
    return verdict(sampled_error(dst, [&](size_t e) {
        if (e % pitch >= (size_t)width) return 0;
        const float v = 1.25f * (src[e] - 128.0f) + 138.0f;
        return (int)(v < 0.0f ? 0.0f : v > 255.0f ? 255.0f : v);
    }));
}

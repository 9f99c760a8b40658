// Compositing of two grey pictures of n x n bytes: a foreground is multiplied by its mask in place,
// and then laid over a background, in place as well.
//
//     nvcc -O2 -o alpha_over alpha_over.cu && ./alpha_over 4000

#include "../host.h"

// The nearest byte to product / 255.
__host__ __device__ inline unsigned scaled(unsigned product) {
    product += 128u;
    return (product + (product >> 8)) >> 8;
}

__global__ void premultiply(int pixels, const unsigned char *mask, unsigned char *foreground) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < pixels) foreground[at] = scaled(foreground[at] * mask[at]);
}

__global__ void alpha_over(int width, int height, const unsigned char *foreground,
                           const unsigned char *mask, unsigned char *picture) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const int at = y * width + x;
    const unsigned sum = foreground[at] + scaled(picture[at] * (255u - mask[at]));
    picture[at] = sum < 255u ? sum : 255u;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 200, 40000);
    const size_t count = (size_t)n * n;
    const auto foreground = quick_bits<unsigned char>(count, 1);
    const auto mask = quick_bits<unsigned char>(count, 2);
    const auto background = quick_bits<unsigned char>(count, 3);
    unsigned char *device_foreground = to_device(foreground), *device_mask = to_device(mask);
    unsigned char *picture = to_device(background);

    const int threads = 256;
    premultiply<<<blocks_for(n * n, threads), threads>>>(n * n, device_mask, device_foreground);
    const dim3 block(32, 8);
    const dim3 grid(blocks_for(n, block.x), blocks_for(n, block.y));
    alpha_over<<<grid, block>>>(n, n, device_foreground, device_mask, picture);
    finish_launches();

    return verdict(sampled_error(from_device(picture, count), [&](size_t e) {
        const int front = (foreground[e] * mask[e] + 127) / 255;
        const int sum = front + (background[e] * (255 - mask[e]) + 127) / 255;
        return sum < 255 ? sum : 255;
    }));
}

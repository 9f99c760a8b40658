// Images: a layer of n x n bytes over another, with a plane of how much of it shows.
//
//     nvcc -O2 -o blend_layers blend_layers.cu && ./blend_layers 1500

#include "checksum.h"

using u8 = uint8_t;

__global__ void alphaBlend(const u8 *__restrict__ front, const u8 *__restrict__ back,
                           const u8 *__restrict__ alpha, u8 *__restrict__ dst, int w, int h) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (col < w && row < h) {
        const int p = row * w + col;
        const int a = alpha[p];
        dst[p] = (u8)((a * front[p] + (255 - a) * back[p] + 127) / 255);
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 50, 20000);
    const size_t count = (size_t)n * n;
    const std::vector<u8> front = quick_bits<u8>(count, 2131);
    const std::vector<u8> back = quick_bits<u8>(count, 2132);
    const std::vector<u8> alpha = quick_bits<u8>(count, 2133);
    const u8 *d_front = to_device(front), *d_back = to_device(back), *d_alpha = to_device(alpha);
    u8 *d_dst = device_zeros<u8>(count);

    dim3 threads(16, 16);
    dim3 blocks((n + 15) / 16, (n + 15) / 16);
    alphaBlend<<<blocks, threads>>>(d_front, d_back, d_alpha, d_dst, n, n);
    finish_launches();

    const std::vector<u8> dst = from_device(d_dst, count);
    print_checksum("dst", dst);
    return verdict(sampled_error(dst, [&](size_t e) {
        return (alpha[e] * front[e] + (255 - alpha[e]) * back[e] + 127) / 255;
    }));
}

// Images: red, green and blue planes of n x (9n/16 + 1) bytes to gray, with whole weights.
//
//     nvcc -O2 -o gray_planes gray_planes.cu && ./gray_planes 1920

#include "checksum.h"

__global__ void rgbToGray(const unsigned char *r, const unsigned char *g, const unsigned char *b,
                          unsigned char *gray, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int i = y * width + x;
    gray[i] = (77 * r[i] + 150 * g[i] + 29 * b[i] + 128) >> 8;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 48, 16000);
    const int width = n, height = 9 * n / 16 + 1;
    const size_t count = (size_t)width * height;
    const std::vector<uint8_t> r = quick_bits<uint8_t>(count, 2101);
    const std::vector<uint8_t> g = quick_bits<uint8_t>(count, 2102);
    const std::vector<uint8_t> b = quick_bits<uint8_t>(count, 2103);
    const uint8_t *d_r = to_device(r), *d_g = to_device(g), *d_b = to_device(b);
    uint8_t *d_gray = device_zeros<uint8_t>(count);

    dim3 block(32, 8);
    dim3 grid((width + block.x - 1) / block.x, (height + block.y - 1) / block.y);
    rgbToGray<<<grid, block>>>(d_r, d_g, d_b, d_gray, width, height);
    finish_launches();

    const std::vector<uint8_t> gray = from_device(d_gray, count);
    print_checksum("gray", gray);
    return verdict(sampled_error(
        gray, [&](size_t e) { return (77 * r[e] + 150 * g[e] + 29 * b[e] + 128) >> 8; }));
}

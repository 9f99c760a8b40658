// Sobel's operator on an n x n image of bytes, |gx| + |gy| cut off at 255. The rows lie a pitch
// apart, a multiple of 128 bytes; the rim of the result is black.
//
//     nvcc -O2 -o sobel_bytes sobel_bytes.cu && ./sobel_bytes 1000

#include "../host.h"

#define BLOCK_W 32
#define BLOCK_H 8

__host__ __device__ inline unsigned char edge(const uint8_t *above, const uint8_t *here,
                                              const uint8_t *below) {
    const int gx = (above[1] - above[-1]) + 2 * (here[1] - here[-1]) + (below[1] - below[-1]);
    const int gy = (below[-1] - above[-1]) + 2 * (below[0] - above[0]) + (below[1] - above[1]);
    const int magnitude = abs(gx) + abs(gy);
    return magnitude > 255 ? 255 : magnitude;
}

__global__ void sobel(const uint8_t *in, uint8_t *out, unsigned width, unsigned height,
                      unsigned pitch) {
    const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const unsigned at = y * pitch + x;
    if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
        out[at] = 0;
        return;
    }
    out[at] = edge(in + at - pitch, in + at, in + at + pitch);
}

int main(int argc, char **argv) {
    const unsigned n = size_argument(argc, argv, 100);
    const unsigned pitch = (n + 127) / 128 * 128;
    const size_t count = (size_t)n * pitch;
    const std::vector<uint8_t> image = quick_bits<uint8_t>(count, 1);
    const uint8_t *d_in = to_device(image);
    uint8_t *d_out = device_zeros<uint8_t>(count);

    const dim3 block(BLOCK_W, BLOCK_H);
    const dim3 grid((n + BLOCK_W - 1) / BLOCK_W, (n + BLOCK_H - 1) / BLOCK_H);
    sobel<<<grid, block>>>(d_in, d_out, n, n, pitch);
    finish_launches();

    return verdict(sampled_error(from_device(d_out, count), [&](size_t e) {
        const size_t x = e % pitch, y = e / pitch;
        if (x == 0 || y == 0 || x >= n - 1 || y == n - 1) return (unsigned char)0;
        const uint8_t *here = image.data() + e;
        return edge(here - pitch, here, here + pitch);
    }));
}

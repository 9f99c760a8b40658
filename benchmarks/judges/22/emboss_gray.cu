// Images: relief of a picture of n x n bytes, light from a corner, borders copied.
//
//     nvcc -O2 -o emboss_gray emboss_gray.cu && ./emboss_gray 2000

#include "summed.h"

typedef unsigned char pixel;

__device__ __host__ inline pixel clamp255(int v) { return v < 0 ? 0 : v > 255 ? 255 : v; }

__device__ __host__ inline pixel embossed(const pixel *src, int x, int y, int w, int h) {
    if (x == 0 || y == 0 || x == w - 1 || y == h - 1) return src[y * w + x];
    int acc = 128;
    acc += -2 * src[(y - 1) * w + x - 1] - src[(y - 1) * w + x];
    acc += -src[y * w + x - 1] + src[y * w + x + 1];
    acc += src[(y + 1) * w + x] + 2 * src[(y + 1) * w + x + 1];
    return clamp255(acc);
}

__global__ void emboss(const pixel *__restrict__ src, pixel *__restrict__ dst, int w, int h) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    dst[y * w + x] = embossed(src, x, y, w, h);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 100, 40000);
    const std::vector<pixel> picture = quick_bits<pixel>((size_t)n * n, 2211);
    const pixel *d_src = to_device(picture);
    pixel *d_dst = device_zeros<pixel>((size_t)n * n);

    const dim3 threads(32, 8);
    const dim3 blocks((n + 31) / 32, (n + 7) / 8);
    emboss<<<blocks, threads>>>(d_src, d_dst, n, n);
    finish_launches();

    const std::vector<pixel> relief = from_device(d_dst, (size_t)n * n);
    say_sum("relief", relief);
    return verdict(sampled_error(relief, [&](size_t e) {
        return embossed(picture.data(), (int)(e % n), (int)(e / n), n, n);
    }));
}

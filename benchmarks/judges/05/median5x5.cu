// Median of 5 x 5 pixels of an n x n image of bytes. The window lies in a local array, which is
// sorted as far as its middle. Beyond the rim the image goes on with its last pixels.
//
//     nvcc -O2 -o median5x5 median5x5.cu && ./median5x5 1000

#include <algorithm>

#include "../host.h"

typedef unsigned char uchar;

template <int RADIUS>
__global__ void median_filter(const uchar *src, uchar *dst, int width, int height) {
    const int side = 2 * RADIUS + 1, size = side * side;
    int x = threadIdx.x + blockIdx.x * blockDim.x;
    int y = threadIdx.y + blockIdx.y * blockDim.y;
    if (x >= width || y >= height) return;

    uchar window[size];
    int filled = 0;
    for (int dy = -RADIUS; dy <= RADIUS; dy++) {
        for (int dx = -RADIUS; dx <= RADIUS; dx++) {
            int xx = min(max(x + dx, 0), width - 1);
            int yy = min(max(y + dy, 0), height - 1);
            window[filled++] = src[yy * width + xx];
        }
    }
    for (int i = 0; i <= size / 2; i++) {
        for (int j = i + 1; j < size; j++) {
            if (window[j] < window[i]) {
                uchar t = window[i];
                window[i] = window[j];
                window[j] = t;
            }
        }
    }
    dst[y * width + x] = window[size / 2];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 100);
    const size_t count = (size_t)n * n;
    const std::vector<uchar> image = quick_bits<uchar>(count, 1);
    const uchar *d_src = to_device(image);
    uchar *d_dst = device_zeros<uchar>(count);

    dim3 block(16, 16);
    dim3 grid((n + 15) / 16, (n + 15) / 16);
    median_filter<2><<<grid, block>>>(d_src, d_dst, n, n);
    finish_launches();

    return verdict(sampled_error(from_device(d_dst, count), [&](size_t e) {
        const int x = (int)(e % n), y = (int)(e / n);
        std::vector<uchar> window;
        for (int dy = -2; dy <= 2; dy++)
            for (int dx = -2; dx <= 2; dx++) {
                const int xx = std::min(std::max(x + dx, 0), n - 1);
                const int yy = std::min(std::max(y + dy, 0), n - 1);
                window.push_back(image[(size_t)yy * n + xx]);
            }
        std::sort(window.begin(), window.end());
        return window[12];
    }));
}

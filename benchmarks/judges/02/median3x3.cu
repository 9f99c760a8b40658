// The median of 3 x 3 bytes at each inner pixel of an n x n image, by exchanges.
//
//     nvcc -O2 -o median3x3 median3x3.cu && ./median3x3 1000

#include "../judge.h"

#include <algorithm>

__device__ inline void order(int &low, int &high) {
    const int smaller = min(low, high);
    high = max(low, high);
    low = smaller;
}

__device__ inline int median(int p[9]) {
    order(p[1], p[2]), order(p[4], p[5]), order(p[7], p[8]);
    order(p[0], p[1]), order(p[3], p[4]), order(p[6], p[7]);
    order(p[1], p[2]), order(p[4], p[5]), order(p[7], p[8]);
    order(p[0], p[3]), order(p[5], p[8]), order(p[4], p[7]);
    order(p[3], p[6]), order(p[1], p[4]), order(p[2], p[5]);
    order(p[4], p[7]), order(p[4], p[2]), order(p[6], p[4]);
    order(p[4], p[2]);
    return p[4];
}

__global__ void median3x3(const unsigned char *image, unsigned char *filtered, int n) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
    int p[9];
#pragma unroll
    for (int k = 0; k < 9; k++) p[k] = image[(y + k / 3 - 1) * n + x + k % 3 - 1];
    filtered[y * n + x] = (unsigned char)median(p);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 150);
    const size_t count = (size_t)n * n;
    const std::vector<int> numbers = fixed_integers(count, 256, 1);
    const std::vector<unsigned char> image(numbers.begin(), numbers.end());
    unsigned char *device_image = to_device(image), *device_filtered = to_device(image);

    dim3 block(32, 16);
    dim3 grid(blocks_for(n, block.x), blocks_for(n, block.y));
    median3x3<<<grid, block>>>(device_image, device_filtered, n);
    finish_launches();

    return verdict(sampled_error(from_device(device_filtered, count), [&](size_t e) {
        const int x = (int)(e % n), y = (int)(e / n);
        if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return (int)image[e];
        int p[9];
        for (int k = 0; k < 9; k++) p[k] = image[e + (k / 3 - 1) * n + k % 3 - 1];
        std::nth_element(p, p + 4, p + 9);
        return p[4];
    }));
}

// Dilation of an n x n image of bytes by a square of 7 x 7. A block keeps its pixels and a margin
// of three in dynamic shared memory; beyond the edge the image is 0.
//
//     nvcc -O2 -o dilate_tile dilate_tile.cu && ./dilate_tile 1000

#include "../judge.h"

#include <algorithm>

#define RADIUS 3

#pragma cutune kernel dilate_tile data(n) block(x: 8..128, y: 4..32) where(x * y <= 1024) \
    grid(ceil(n / x), ceil(n / y)) shared((x + 6) * (y + 6))
__global__ void dilate_tile(int n, const unsigned char *source, unsigned char *target) {
    extern __shared__ unsigned char tile[];
    const int pitch = blockDim.x + 2 * RADIUS, rows = blockDim.y + 2 * RADIUS;
    const int left = blockIdx.x * blockDim.x - RADIUS, top = blockIdx.y * blockDim.y - RADIUS;
    for (int row = threadIdx.y; row < rows; row += blockDim.y)
        for (int column = threadIdx.x; column < pitch; column += blockDim.x) {
            const int x = left + column, y = top + row;
            const bool inside = x >= 0 && y >= 0 && x < n && y < n;
            tile[row * pitch + column] = inside ? source[y * n + x] : 0;
        }
    __syncthreads();

    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) return;
    int most = 0;
    for (int dy = 0; dy <= 2 * RADIUS; dy++)
        for (int dx = 0; dx <= 2 * RADIUS; dx++)
            most = max(most, (int)tile[(threadIdx.y + dy) * pitch + threadIdx.x + dx]);
    target[y * n + x] = (unsigned char)most;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 150);
    const size_t count = (size_t)n * n;
    const std::vector<int> numbers = fixed_integers(count, 256, 1);
    const std::vector<unsigned char> image(numbers.begin(), numbers.end());
    unsigned char *device_image = to_device(image);
    unsigned char *device_dilated = to_device(std::vector<unsigned char>(count));

    const dim3 block(32, 8);
    const dim3 grid(blocks_for(n, block.x), blocks_for(n, block.y));
    const size_t bytes = (block.x + 2 * RADIUS) * (block.y + 2 * RADIUS);
    dilate_tile<<<grid, block, bytes>>>(n, device_image, device_dilated);
    finish_launches();

    return verdict(sampled_error(from_device(device_dilated, count), [&](size_t e) {
        const int x = (int)(e % n), y = (int)(e / n);
        int most = 0;
        for (int row = std::max(y - RADIUS, 0); row <= std::min(y + RADIUS, n - 1); row++)
            for (int column = std::max(x - RADIUS, 0); column <= std::min(x + RADIUS, n - 1);
                 column++)
                most = std::max(most, (int)image[(size_t)row * n + column]);
        return most;
    }));
}

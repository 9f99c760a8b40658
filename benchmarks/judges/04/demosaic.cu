// Colours of an n x n image from a sensor with red, green and blue cells in a pattern of 2 x 2:
// what a cell lacks is the mean of its neighbours that have it.
//
//     nvcc -O2 -o demosaic demosaic.cu && ./demosaic 1000

#include "../judge.h"

typedef unsigned char Byte;

// Even rows are red, green, red, …; odd rows green, blue, green, …
__host__ __device__ inline uchar4 colours(const Byte *cell, int pitch, bool odd_x, bool odd_y) {
    const int own = cell[0];
    const int beside = (cell[-1] + cell[1]) / 2, above = (cell[-pitch] + cell[pitch]) / 2;
    if (odd_x != odd_y)
        return odd_x ? make_uchar4(beside, own, above, 255) : make_uchar4(above, own, beside, 255);
    const int green = (beside + above) / 2;
    const int far = (cell[-pitch - 1] + cell[-pitch + 1] + cell[pitch - 1] + cell[pitch + 1]) / 4;
    return odd_x ? make_uchar4(far, green, own, 255) : make_uchar4(own, green, far, 255);
}

__global__ void demosaic(int n, const Byte *cells, uchar4 *image) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && y > 0 && x < n - 1 && y < n - 1)
        image[y * n + x] = colours(cells + y * n + x, n, x % 2 == 1, y % 2 == 1);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 150);
    const size_t count = (size_t)n * n;
    const std::vector<int> numbers = fixed_integers(count, 256, 1);
    const std::vector<Byte> cells(numbers.begin(), numbers.end());
    const Byte *device_cells = to_device(cells);
    uchar4 *device_image = to_device(std::vector<uchar4>(count));

    const dim3 block(32, 8);
    const dim3 grid(blocks_for(n, block.x), blocks_for(n, block.y));
    demosaic<<<grid, block>>>(n, device_cells, device_image);
    finish_launches();

    const auto total = [](uchar4 pixel) { return pixel.x + 300 * pixel.y + 90000 * pixel.z; };
    const std::vector<uchar4> image = from_device(device_image, count);
    std::vector<int> totals(count);
    for (size_t e = 0; e < count; e++) totals[e] = total(image[e]);
    return verdict(sampled_error(totals, [&](size_t e) {
        const int x = (int)(e % n), y = (int)(e / n);
        if (x == 0 || y == 0 || x >= n - 1 || y >= n - 1) return 0;
        return total(colours(&cells[e], n, x % 2 == 1, y % 2 == 1));
    }));
}

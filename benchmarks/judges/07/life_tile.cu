// A generation of Conway's game of life on n x n cells, a byte per cell. A block keeps its cells
// and a ring of one around them in dynamic shared memory; everything outside is dead.
//
//     nvcc -O2 -o life_tile life_tile.cu && ./life_tile 1000

#include "../host.h"

#pragma cutune kernel life data(n) block(x: 8, 16, 32, 64, 128, y: 2, 4, 8, 16, 32) \
    where(x * y <= 1024) grid(ceil(n / x), ceil(n / y)) shared((x + 2) * (y + 2))
__global__ void life(const unsigned char *before, unsigned char *after, int n) {
    extern __shared__ unsigned char cells[];
    const int width = blockDim.x + 2, height = blockDim.y + 2;
    const int left = blockIdx.x * blockDim.x - 1, top = blockIdx.y * blockDim.y - 1;
    for (int i = threadIdx.y * blockDim.x + threadIdx.x; i < width * height;
         i += blockDim.x * blockDim.y) {
        const int x = left + i % width, y = top + i / width;
        cells[i] = x >= 0 && y >= 0 && x < n && y < n ? before[y * n + x] : 0;
    }
    __syncthreads();

    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) return;
    const unsigned char *above = cells + threadIdx.y * width + threadIdx.x;
    const unsigned char *here = above + width, *below = here + width;
    const int neighbours = above[0] + above[1] + above[2] + here[0] + here[2] + below[0] +
                           below[1] + below[2];
    after[y * n + x] = neighbours == 3 || (neighbours == 2 && here[1]);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64);
    const size_t count = (size_t)n * n;
    std::vector<unsigned char> before = quick_bits<unsigned char>(count, 1);
    for (unsigned char &cell : before) cell = cell < 90;
    const unsigned char *d_before = to_device(before);
    unsigned char *d_after = device_zeros<unsigned char>(count);

    dim3 block(16, 16);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    size_t bytes = (block.x + 2) * (block.y + 2);
    life<<<grid, block, bytes>>>(d_before, d_after, n);
    finish_launches();

    return verdict(sampled_error(from_device(d_after, count), [&](size_t e) {
        const int x = (int)(e % n), y = (int)(e / n);
        int alive = 0;
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++)
                if (x + dx >= 0 && y + dy >= 0 && x + dx < n && y + dy < n)
                    alive += before[(size_t)(y + dy) * n + x + dx];
        return alive == 3 || (alive == 4 && before[e]);
    }));
}

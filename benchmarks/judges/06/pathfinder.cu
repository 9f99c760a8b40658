// The cheapest way down through 33 rows of n costs, one place to the left or right per row at most.
// A launch does eight rows: a block keeps its columns and a margin of eight in dynamic shared
// memory, and what is right of them shrinks by one on each side per row.
//
//     nvcc -O2 -o pathfinder pathfinder.cu && ./pathfinder 100000

#include "../host.h"

#define ROWS 8
#define LAUNCHES 4

#pragma cutune kernel pathfinder data(columns) block(x: 32..1024) grid(ceil(columns / x)) \
    shared(8 * (x + 16))
__global__ void pathfinder(int columns, const unsigned char *cost, const int *before, int *after) {
    extern __shared__ int way[];
    const int width = blockDim.x + 2 * ROWS;
    const int first = blockIdx.x * blockDim.x - ROWS;
    int *now = way, *next = way + width;
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        const int column = first + i;
        now[i] = column >= 0 && column < columns ? before[column] : 1 << 30;
        next[i] = 1 << 30;
    }
    for (int row = 0; row < ROWS; row++) {
        __syncthreads();
        for (int i = row + 1 + threadIdx.x; i < width - 1 - row; i += blockDim.x) {
            const int column = first + i;
            if (column >= 0 && column < columns)
                next[i] = cost[row * columns + column] + min(now[i], min(now[i - 1], now[i + 1]));
        }
        int *swapped = now;
        now = next;
        next = swapped;
    }
    __syncthreads();
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column < columns) after[column] = now[threadIdx.x + ROWS];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 5000, 1 << 26);
    const size_t places = (size_t)n * ROWS * LAUNCHES;
    const std::vector<unsigned char> cost = quick_bits<unsigned char>(places, 1);
    std::vector<int> way = fixed_integers(n, 256, 2), longer(n);
    const unsigned char *d_cost = to_device(cost);
    int *d_way = to_device(way), *d_longer = device_zeros<int>(n);

    dim3 block(256);
    dim3 grid((n + block.x - 1) / block.x);
    size_t bytes = 2 * sizeof(int) * (block.x + 2 * ROWS);
    for (int launch = 0; launch < LAUNCHES; launch++) {
        pathfinder<<<grid, block, bytes>>>(n, d_cost + (size_t)launch * ROWS * n, d_way, d_longer);
        std::swap(d_way, d_longer);
    }
    finish_launches();

    for (int row = 0; row < ROWS * LAUNCHES; row++) {
        for (int c = 0; c < n; c++) {
            int least = way[c];
            if (c > 0 && way[c - 1] < least) least = way[c - 1];
            if (c < n - 1 && way[c + 1] < least) least = way[c + 1];
            longer[c] = least + cost[(size_t)row * n + c];
        }
        way.swap(longer);
    }
    return verdict(from_device(d_way, n) == way ? 0.0 : 1.0);
}

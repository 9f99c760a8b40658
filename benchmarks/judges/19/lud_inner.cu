// The inner tiles of a decomposition of an n x n matrix, n rounded up to tiles of 16: each loses the
// product of the tile at its row and of that at its column. As in the first step of Rodinia's kind.
//
//     nvcc -O2 -o lud_inner lud_inner.cu && ./lud_inner 2048

#include "../host.h"

#define TILE 16

__global__ void inner(float *m, int width, int offset) {
    __shared__ float by_row[TILE][TILE], by_column[TILE][TILE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = offset + (blockIdx.y + 1) * TILE, column = offset + (blockIdx.x + 1) * TILE;
    by_row[ty][tx] = m[(offset + ty) * width + column + tx];
    by_column[ty][tx] = m[(row + ty) * width + offset + tx];
    __syncthreads();
    float sum = 0.0f;
    for (int k = 0; k < TILE; k++) sum += by_column[ty][k] * by_row[k][tx];
    m[(row + ty) * width + column + tx] -= sum;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 256, 16384);
    const int width = (n + TILE - 1) / TILE * TILE, tiles = width / TILE;
    const size_t count = (size_t)width * width;
    const std::vector<float> before = quick_values(count, 1906);
    float *m = to_device(before);
    if (tiles < 2) return verdict(0.0);

    const dim3 block(TILE, TILE), grid(tiles - 1, tiles - 1);
    inner<<<grid, block>>>(m, width, 0);
    finish_launches();

    return verdict(sampled_error(from_device(m, count), [&](size_t e) {
        const size_t row = e / width, column = e % width;
        double value = before[e];
        if (row < TILE || column < TILE) return value;
        for (size_t k = 0; k < TILE; k++)
            value -= (double)before[row * width + k] * before[k * width + column];
        return value;
    }));
}

// A product of two n x n matrices by tiles of 16 x 16, as in the programming guide, with edges.
//
//     nvcc -O2 -o product_tile product_tile.cu && ./product_tile 1024

#include "../host.h"

#define TILE 16

__global__ void product(const float *a, const float *b, float *c, int n) {
    __shared__ float part_a[TILE][TILE], part_b[TILE][TILE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int column = blockIdx.x * TILE + tx, row = blockIdx.y * TILE + ty;
    float sum = 0.0f;
    for (int first = 0; first < n; first += TILE) {
        part_a[ty][tx] = row < n && first + tx < n ? a[row * n + first + tx] : 0.0f;
        part_b[ty][tx] = column < n && first + ty < n ? b[(first + ty) * n + column] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; k++) sum += part_a[ty][k] * part_b[k][tx];
        __syncthreads();
    }
    if (row < n && column < n) c[row * n + column] = sum;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 256, 8192);
    const size_t count = (size_t)n * n;
    const std::vector<float> a = quick_values(count, 1911), b = quick_values(count, 1912);
    const float *d_a = to_device(a), *d_b = to_device(b);
    float *d_c = device_zeros<float>(count);

    const dim3 block(TILE, TILE), grid((n + TILE - 1) / TILE, (n + TILE - 1) / TILE);
    product<<<grid, block>>>(d_a, d_b, d_c, n);
    finish_launches();

    return verdict(sampled_error(from_device(d_c, count), [&](size_t e) {
        double sum = 0.0;
        for (int k = 0; k < n; k++) sum += (double)a[e / n * n + k] * b[(size_t)k * n + e % n];
        return sum;
    }));
}

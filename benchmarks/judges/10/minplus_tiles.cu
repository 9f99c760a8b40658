// A step towards all shortest paths: the product of two n x n matrices of distances in which sums
// are minima and products are sums. A block keeps 16 columns and rows at a time of its part of the
// factors in dynamic shared memory.
//
//     nvcc -O2 -o minplus_tiles minplus_tiles.cu && ./minplus_tiles 1000

#include "../host.h"

#define CHUNK 16
#define FAR 1e30f

#pragma cutune kernel minplus data(n) block(x: 8, 16, 32, 64, y: 4, 8, 16, 32) \
    where(x * y <= 1024) grid(ceil(n / x), ceil(n / y)) shared(64 * (x + y))
__global__ void minplus(const float *__restrict__ a, const float *__restrict__ b,
                        float *__restrict__ shortest, int n) {
    extern __shared__ float tiles[];
    float *tile_a = tiles, *tile_b = tiles + CHUNK * blockDim.y;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    float best = FAR;
    for (int start = 0; start < n; start += CHUNK) {
        for (int k = threadIdx.x; k < CHUNK; k += blockDim.x)
            tile_a[threadIdx.y * CHUNK + k] =
                row < n && start + k < n ? a[row * n + start + k] : FAR;
        for (int k = threadIdx.y; k < CHUNK; k += blockDim.y)
            tile_b[k * blockDim.x + threadIdx.x] =
                column < n && start + k < n ? b[(start + k) * n + column] : FAR;
        __syncthreads();
        for (int k = 0; k < CHUNK; k++)
            best = fminf(best, tile_a[threadIdx.y * CHUNK + k] +
                                   tile_b[k * blockDim.x + threadIdx.x]);
        __syncthreads();
    }
    if (row < n && column < n) shortest[row * n + column] = best;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64);
    const size_t count = (size_t)n * n;
    const std::vector<float> a = quick_values(count, 1), b = quick_values(count, 2);
    const float *d_a = to_device(a), *d_b = to_device(b);
    float *d_shortest = device_zeros<float>(count);

    dim3 block(16, 16);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    size_t shared_bytes = (block.x + block.y) * CHUNK * sizeof(float);
    minplus<<<grid, block, shared_bytes>>>(d_a, d_b, d_shortest, n);
    finish_launches();

    return verdict(sampled_error(from_device(d_shortest, count), [&](size_t e) {
        const size_t row = e / n, column = e % n;
        float best = FAR;
        for (size_t k = 0; k < (size_t)n; k++)
            best = fminf(best, a[row * n + k] + b[k * n + column]);
        return best;
    }));
}

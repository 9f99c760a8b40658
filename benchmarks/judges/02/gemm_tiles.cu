// C = alpha A B + beta C in double precision. A block of x by y threads keeps y rows of A and x
// columns of B, x deep, in dynamic shared memory.
//
//     nvcc -O2 -o gemm_tiles gemm_tiles.cu && ./gemm_tiles 512

#include "../judge.h"

#pragma cutune kernel gemm_tiles data(n) block(x: 8..64, y: 4..64) where(x * y <= 1024) \
    grid(ceil(n / x), ceil(n / y)) shared(8 * x * (x + y))
__global__ void gemm_tiles(int n, double alpha, const double *a, const double *b, double beta,
                           double *c) {
    extern __shared__ double tiles[];
    const int depth = blockDim.x, tx = threadIdx.x, ty = threadIdx.y;
    double *tile_a = tiles, *tile_b = tiles + depth * blockDim.y;
    const int column = blockIdx.x * blockDim.x + tx;
    const int row = blockIdx.y * blockDim.y + ty;
    double sum = 0.0;
    for (int start = 0; start < n; start += depth) {
        const int k = start + tx;
        tile_a[ty * depth + tx] = row < n && k < n ? a[row * n + k] : 0.0;
        for (int t = ty; t < depth; t += blockDim.y) {
            const bool inside = start + t < n && column < n;
            tile_b[t * depth + tx] = inside ? b[(start + t) * n + column] : 0.0;
        }
        __syncthreads();
        for (int t = 0; t < depth; t++) sum += tile_a[ty * depth + t] * tile_b[t * depth + tx];
        __syncthreads();
    }
    if (row < n && column < n) c[row * n + column] = alpha * sum + beta * c[row * n + column];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 100);
    const size_t count = (size_t)n * n;
    const std::vector<float> numbers = fixed_values(3 * count, 1);
    const std::vector<double> a(numbers.begin(), numbers.begin() + count);
    const std::vector<double> b(numbers.begin() + count, numbers.begin() + 2 * count);
    const std::vector<double> c(numbers.begin() + 2 * count, numbers.end());
    double *device_a = to_device(a), *device_b = to_device(b), *device_c = to_device(c);

    dim3 block(16, 16);
    dim3 grid(blocks_for(n, block.x), blocks_for(n, block.y));
    const size_t bytes = block.x * (block.x + block.y) * sizeof(double);
    gemm_tiles<<<grid, block, bytes>>>(n, 1.5, device_a, device_b, 0.5, device_c);
    finish_launches();

    return verdict(sampled_error(from_device(device_c, count), [&](size_t e) {
        double sum = 0.0;
        for (int k = 0; k < n; k++) sum += a[e / n * n + k] * b[(size_t)k * n + e % n];
        return 1.5 * sum + 0.5 * c[e];
    }));
}

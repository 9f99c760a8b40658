// B = A^T through a shared-memory tile of the block's own shape, so that both the load and the
// store run along rows.
//
//     nvcc -O2 -o tile_transpose tile_transpose.cu && ./tile_transpose 1000

#include "../judge.h"

#pragma cutune kernel tile_transpose data(n) block(x: 4..128, y: 4..128) where(x * y <= 1024) grid(ceil(n / x), ceil(n / y))
__global__ void tile_transpose(int n, const float *a, float *b) {
    __shared__ float tile[1024 + 128];
    const int pitch = blockDim.x + 1;
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < n && column < n) tile[threadIdx.y * pitch + threadIdx.x] = a[row * n + column];
    __syncthreads();
    const int thread = threadIdx.y * blockDim.x + threadIdx.x;
    const int inner = thread % (int)blockDim.y, outer = thread / (int)blockDim.y;
    const int source_row = blockIdx.y * blockDim.y + inner;
    const int source_column = blockIdx.x * blockDim.x + outer;
    if (source_row < n && source_column < n)
        b[source_column * n + source_row] = tile[inner * pitch + outer];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 200);
    const std::vector<float> a = fixed_values((size_t)n * n, 1);
    float *device_a = to_device(a), *device_b = to_device(std::vector<float>((size_t)n * n));

    dim3 block(32, 8);
    dim3 grid(blocks_for(n, block.x), blocks_for(n, block.y));
    tile_transpose<<<grid, block>>>(n, device_a, device_b);
    finish_launches();

    return verdict(sampled_error(from_device(device_b, (size_t)n * n),
                                 [&](size_t e) { return a[e % n * n + e / n]; }));
}

// The second half of a separable filter of an n x n image: 17 weights along the columns. A block
// keeps its pixels and eight rows above and below in dynamic shared memory; outside the image is 0.
//
//     nvcc -O2 -o conv_columns conv_columns.cu && ./conv_columns 1000

#include "../host.h"

#define RADIUS 8

__constant__ float weights[2 * RADIUS + 1];

#pragma cutune kernel conv_columns data(n) block(x: 8, 16, 24, 32, 48, 64, 96, 128, \
    y: 4, 6, 8, 12, 16, 24, 32, 64) where(x * y <= 1024) grid(ceil(n / x), ceil(n / y)) \
    shared(4 * x * (y + 16))
__global__ void conv_columns(int n, const float *source, float *target) {
    extern __shared__ float tile[];
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int top = blockIdx.y * blockDim.y - RADIUS;
    for (int row = threadIdx.y; row < (int)blockDim.y + 2 * RADIUS; row += blockDim.y) {
        const int y = top + row;
        const bool inside = x < n && y >= 0 && y < n;
        tile[row * blockDim.x + threadIdx.x] = inside ? source[y * n + x] : 0.0f;
    }
    __syncthreads();

    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) return;
    float sum = 0.0f;
    for (int k = 0; k <= 2 * RADIUS; k++)
        sum += weights[k] * tile[(threadIdx.y + k) * blockDim.x + threadIdx.x];
    target[y * n + x] = sum;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64);
    const size_t count = (size_t)n * n;
    const std::vector<float> image = quick_values(count, 1);
    float taps[2 * RADIUS + 1];
    for (int k = -RADIUS; k <= RADIUS; k++) taps[k + RADIUS] = expf(-0.05f * k * k) / 8.0f;
    CHECK(cudaMemcpyToSymbol(weights, taps, sizeof(taps)));
    const float *d_image = to_device(image);
    float *d_filtered = device_zeros<float>(count);

    dim3 block(32, 16);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    size_t bytes = sizeof(float) * block.x * (block.y + 2 * RADIUS);
    conv_columns<<<grid, block, bytes>>>(n, d_image, d_filtered);
    finish_launches();

    return verdict(sampled_error(from_device(d_filtered, count), [&](size_t e) {
        const int x = (int)(e % n), y = (int)(e / n);
        float sum = 0.0f;
        for (int k = 0; k <= 2 * RADIUS; k++) {
            const int row = y + k - RADIUS;
            if (row >= 0 && row < n) sum += taps[k] * image[(size_t)row * n + x];
        }
        return sum;
    }));
}

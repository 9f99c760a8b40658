// Bilateral filter of an n x n picture of floats: a mean of the 7 x 7 pixels around each, weighted
// by distance and by difference. A block keeps its part of the picture in dynamic shared memory;
// outside, the nearest pixel counts.
//
//     nvcc -O2 -o bilateral_tile bilateral_tile.cu && ./bilateral_tile 1100

#include "../host.h"

#define RADIUS 3

__host__ __device__ inline int clamped(int at, int size) {
    return at < 0 ? 0 : at < size ? at : size - 1;
}

#pragma cutune kernel bilateral data(width, height) \
    block(x: 8, 16, 32, 64, 128, y: 2, 4, 8, 16, 32) where(x * y <= 1024) \
    grid(ceil(width / x), ceil(height / y)) shared(4 * (x + 6) * (y + 6))
__global__ void bilateral(const float *__restrict__ in, float *__restrict__ out, int width,
                          int height, float by_distance, float by_value) {
    extern __shared__ float tile[];
    const int pitch = blockDim.x + 2 * RADIUS;
    const int left = blockIdx.x * blockDim.x - RADIUS, top = blockIdx.y * blockDim.y - RADIUS;
    for (int ty = threadIdx.y; ty < blockDim.y + 2 * RADIUS; ty += blockDim.y) {
        const int row = clamped(top + ty, height);
        for (int tx = threadIdx.x; tx < pitch; tx += blockDim.x)
            tile[ty * pitch + tx] = in[(size_t)row * width + clamped(left + tx, width)];
    }
    __syncthreads();

    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;

    const float centre = tile[(threadIdx.y + RADIUS) * pitch + threadIdx.x + RADIUS];
    float sum = 0.0f, weights = 0.0f;
    for (int dy = -RADIUS; dy <= RADIUS; dy++)
        for (int dx = -RADIUS; dx <= RADIUS; dx++) {
            const float v = tile[(threadIdx.y + RADIUS + dy) * pitch + threadIdx.x + RADIUS + dx];
            const float d = v - centre;
            const float w = __expf(-(dx * dx + dy * dy) * by_distance - d * d * by_value);
            sum += w * v;
            weights += w;
        }
    out[(size_t)y * width + x] = sum / weights;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64, 30000);
    const size_t count = (size_t)n * n;
    const float by_distance = 0.5f / (2.0f * 2.0f), by_value = 0.5f / (0.3f * 0.3f);
    const std::vector<float> in = quick_values(count, 11);
    const float *d_in = to_device(in);
    float *d_out = device_zeros<float>(count);

    dim3 block(16, 16);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    size_t shared_bytes = sizeof(float) * (block.x + 2 * RADIUS) * (block.y + 2 * RADIUS);
    bilateral<<<grid, block, shared_bytes>>>(d_in, d_out, n, n, by_distance, by_value);
    finish_launches();

    const std::vector<float> out = from_device(d_out, count);
    return verdict(sampled_error(out, [&](size_t e) {
        const int x = (int)(e % n), y = (int)(e / n);
        float sum = 0.0f, weights = 0.0f;
        for (int dy = -RADIUS; dy <= RADIUS; dy++)
            for (int dx = -RADIUS; dx <= RADIUS; dx++) {
                const float v = in[(size_t)clamped(y + dy, n) * n + clamped(x + dx, n)];
                const float d = v - in[e];
                const float w = expf(-(dx * dx + dy * dy) * by_distance - d * d * by_value);
                sum += w * v;
                weights += w;
            }
        return sum / weights;
    }));
}

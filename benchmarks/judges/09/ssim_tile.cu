// Structural similarity of two n x n images of bytes over windows of 7 x 7 pixels. A block keeps
// both images' pixels and three around them in dynamic shared memory; outside, the nearest counts.
//
//     nvcc -O2 -o ssim_tile ssim_tile.cu && ./ssim_tile 1000

#include "../host.h"

#define RADIUS 3

__host__ __device__ inline int nearest(int at, int n) { return at < 0 ? 0 : at < n ? at : n - 1; }

// The similarity of two windows that begin at these places and have rows `pitch` apart.
__host__ __device__ inline float similarity(const float *a, const float *b, int pitch) {
    float sum_a = 0.0f, sum_b = 0.0f, aa = 0.0f, bb = 0.0f, ab = 0.0f;
    for (int r = 0; r <= 2 * RADIUS; r++)
        for (int c = 0; c <= 2 * RADIUS; c++) {
            const float x = a[r * pitch + c], y = b[r * pitch + c];
            sum_a += x;
            sum_b += y;
            aa += x * x;
            bb += y * y;
            ab += x * y;
        }
    const float share = 1.0f / 49.0f;
    const float mean_a = sum_a * share, mean_b = sum_b * share;
    const float variances = (aa + bb) * share - mean_a * mean_a - mean_b * mean_b;
    const float covariance = ab * share - mean_a * mean_b;
    return (2.0f * mean_a * mean_b + 6.5025f) * (2.0f * covariance + 58.5225f) /
           ((mean_a * mean_a + mean_b * mean_b + 6.5025f) * (variances + 58.5225f));
}

#pragma cutune kernel ssim data(n) block(x: 8, 16, 32, 64, 128, y: 2, 4, 8, 16, 32) \
    where(x * y <= 1024) grid(ceil(n / x), ceil(n / y)) shared(8 * (x + 6) * (y + 6))
__global__ void ssim(const unsigned char *__restrict__ first,
                     const unsigned char *__restrict__ second, float *__restrict__ out, int n) {
    extern __shared__ float tiles[];
    const int pitch = blockDim.x + 2 * RADIUS, rows = blockDim.y + 2 * RADIUS;
    float *a = tiles, *b = tiles + pitch * rows;
    const int left = blockIdx.x * blockDim.x - RADIUS, top = blockIdx.y * blockDim.y - RADIUS;
    for (int r = threadIdx.y; r < rows; r += blockDim.y)
        for (int c = threadIdx.x; c < pitch; c += blockDim.x) {
            const int from = nearest(top + r, n) * n + nearest(left + c, n);
            a[r * pitch + c] = first[from];
            b[r * pitch + c] = second[from];
        }
    __syncthreads();

    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) return;
    const int corner = threadIdx.y * pitch + threadIdx.x;
    out[y * n + x] = similarity(a + corner, b + corner, pitch);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64);
    const size_t count = (size_t)n * n;
    const std::vector<unsigned char> first = quick_bits<unsigned char>(count, 1);
    std::vector<unsigned char> second = quick_bits<unsigned char>(count, 2);
    for (size_t e = 0; e < count; e++) second[e] = (unsigned char)((3 * first[e] + second[e]) / 4);
    const unsigned char *d_first = to_device(first), *d_second = to_device(second);
    float *d_out = device_zeros<float>(count);

    dim3 block(32, 8);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    size_t shared_bytes = 2 * (block.x + 6) * (block.y + 6) * sizeof(float);
    ssim<<<grid, block, shared_bytes>>>(d_first, d_second, d_out, n);
    finish_launches();

    return verdict(sampled_error(from_device(d_out, count), [&](size_t e) {
        const int x = (int)(e % n), y = (int)(e / n);
        float a[49], b[49];
        for (int w = 0; w < 49; w++) {
            const size_t from = (size_t)nearest(y + w / 7 - RADIUS, n) * n +
                                nearest(x + w % 7 - RADIUS, n);
            a[w] = first[from];
            b[w] = second[from];
        }
        return similarity(a, b, 7);
    }));
}

// Black and white from a scanned page of n x n bytes by Sauvola's threshold: mean and deviation of
// the 11 x 11 pixels around each. A block keeps its part of the page in dynamic shared memory;
// outside, the nearest pixel counts.
//
//     nvcc -O2 -o sauvola_tile sauvola_tile.cu && ./sauvola_tile 1000

#include "../host.h"

#define RADIUS 5
#define WINDOW (2 * RADIUS + 1)

__host__ __device__ inline int nearest(int at, int n) { return at < 0 ? 0 : at < n ? at : n - 1; }

// The threshold from a window's sums of values and of their squares.
__host__ __device__ inline float threshold(int sum, int squares) {
    const float mean = sum / (float)(WINDOW * WINDOW);
    const float variance =
        (WINDOW * WINDOW * squares - sum * sum) / (float)(WINDOW * WINDOW * WINDOW * WINDOW);
    return mean * (1.0f + 0.34f * (sqrtf(variance) / 128.0f - 1.0f));
}

#pragma cutune kernel sauvola data(n) block(x: 8, 16, 32, 64, 128, y: 2, 4, 8, 16, 32) \
    where(x * y <= 1024) grid(ceil(n / x), ceil(n / y)) shared((x + 10) * (y + 10))
__global__ void sauvola(const unsigned char *__restrict__ page, unsigned char *__restrict__ out,
                        int n) {
    extern __shared__ unsigned char tile[];
    const int pitch = blockDim.x + 2 * RADIUS, rows = blockDim.y + 2 * RADIUS;
    const int first = blockIdx.x * blockDim.x - RADIUS, top = blockIdx.y * blockDim.y - RADIUS;
    for (int r = threadIdx.y; r < rows; r += blockDim.y)
        for (int c = threadIdx.x; c < pitch; c += blockDim.x)
            tile[r * pitch + c] = page[(size_t)nearest(top + r, n) * n + nearest(first + c, n)];
    __syncthreads();

    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) return;
    int sum = 0, squares = 0;
    for (int r = 0; r < WINDOW; r++)
#pragma unroll
        for (int c = 0; c < WINDOW; c++) {
            const int value = tile[(threadIdx.y + r) * pitch + threadIdx.x + c];
            sum += value;
            squares += value * value;
        }
    const int own = tile[(threadIdx.y + RADIUS) * pitch + threadIdx.x + RADIUS];
    out[(size_t)y * n + x] = own > threshold(sum, squares) ? 255 : 0;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64, 30000);
    const size_t count = (size_t)n * n;
    const std::vector<unsigned char> page = quick_bits<unsigned char>(count, 1);
    const unsigned char *d_page = to_device(page);
    unsigned char *d_out = device_zeros<unsigned char>(count);

    dim3 block(32, 8);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    size_t shared_bytes = (block.x + 2 * RADIUS) * (block.y + 2 * RADIUS);
    sauvola<<<grid, block, shared_bytes>>>(d_page, d_out, n);
    finish_launches();

    // Where a pixel is as bright as the threshold but for rounding, either result will do.
    const std::vector<unsigned char> out = from_device(d_out, count);
    return verdict(sampled_error(out, [&](size_t e) {
        const int x = (int)(e % n), y = (int)(e / n);
        int sum = 0, squares = 0;
        for (int r = -RADIUS; r <= RADIUS; r++)
            for (int c = -RADIUS; c <= RADIUS; c++) {
                const int value = page[(size_t)nearest(y + r, n) * n + nearest(x + c, n)];
                sum += value;
                squares += value * value;
            }
        const float limit = threshold(sum, squares);
        if (fabsf(page[e] - limit) < 1e-3f) return (int)out[e];
        return page[e] > limit ? 255 : 0;
    }));
}

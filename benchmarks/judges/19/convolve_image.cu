// A filter of 5 x 5 over an n x n image, from a tile with its halo that a block of 32 x 8 loads in
// several steps.
//
//     nvcc -O2 -o convolve_image convolve_image.cu && ./convolve_image 2048

#include "../host.h"

#define WIDTH 32
#define HEIGHT 8
#define RADIUS 2
#define ACROSS (WIDTH + 2 * RADIUS)
#define DOWN (HEIGHT + 2 * RADIUS)

__global__ void filtered(const float *in, const float *taps, float *out, int n) {
    __shared__ float tile[DOWN][ACROSS], weights[2 * RADIUS + 1][2 * RADIUS + 1];
    const int left = blockIdx.x * WIDTH - RADIUS, top = blockIdx.y * HEIGHT - RADIUS;
    const int flat = threadIdx.y * WIDTH + threadIdx.x;
    if (flat < (2 * RADIUS + 1) * (2 * RADIUS + 1))
        weights[flat / (2 * RADIUS + 1)][flat % (2 * RADIUS + 1)] = taps[flat];
    for (int at = flat; at < ACROSS * DOWN; at += WIDTH * HEIGHT) {
        const int column = left + at % ACROSS, row = top + at / ACROSS;
        const bool inside = column >= 0 && column < n && row >= 0 && row < n;
        tile[at / ACROSS][at % ACROSS] = inside ? in[row * n + column] : 0.0f;
    }
    __syncthreads();
    const int column = blockIdx.x * WIDTH + threadIdx.x, row = blockIdx.y * HEIGHT + threadIdx.y;
    if (column >= n || row >= n) return;
    float sum = 0.0f;
    for (int j = 0; j <= 2 * RADIUS; j++)
        for (int i = 0; i <= 2 * RADIUS; i++)
            sum += weights[j][i] * tile[threadIdx.y + j][threadIdx.x + i];
    out[row * n + column] = sum;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 256, 16384);
    const size_t count = (size_t)n * n;
    const std::vector<float> in = quick_values(count, 1915), k = quick_values(25, 1916);
    const float *d_in = to_device(in), *d_k = to_device(k);
    float *d_out = device_zeros<float>(count);

    const dim3 block(WIDTH, HEIGHT), grid((n + WIDTH - 1) / WIDTH, (n + HEIGHT - 1) / HEIGHT);
    filtered<<<grid, block>>>(d_in, d_k, d_out, n);
    finish_launches();

    return verdict(sampled_error(from_device(d_out, count), [&](size_t e) {
        double sum = 0.0;
        for (int j = -RADIUS; j <= RADIUS; j++)
            for (int i = -RADIUS; i <= RADIUS; i++) {
                const long row = (long)(e / n) + j, column = (long)(e % n) + i;
                if (row < 0 || row >= n || column < 0 || column >= n) continue;
                sum += (double)k[(j + RADIUS) * 5 + i + RADIUS] * in[row * n + column];
            }
        return sum;
    }));
}

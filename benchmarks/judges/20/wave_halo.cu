// Seismics: a step of the wave equation in n x n places, of eighth order, with a tile and a halo
// of four in shared memory; the tile's shape is a template's parameter.
//
//     nvcc -O2 -o wave_halo wave_halo.cu && ./wave_halo 900

#include "../host.h"

#define REACH 4

__constant__ float weights[REACH + 1];

template <int WIDTH, int HEIGHT>
__global__ void wave_step(const float *__restrict__ now, const float *__restrict__ before,
                          const float *__restrict__ speeds, float *__restrict__ next, int n) {
    __shared__ float tile[HEIGHT + 2 * REACH][WIDTH + 2 * REACH];
    const int left = blockIdx.x * WIDTH, top = blockIdx.y * HEIGHT;
    for (int ty = threadIdx.y; ty < HEIGHT + 2 * REACH; ty += HEIGHT)
        for (int tx = threadIdx.x; tx < WIDTH + 2 * REACH; tx += WIDTH) {
            const int x = left + tx - REACH, y = top + ty - REACH;
            const bool inside = x >= 0 && y >= 0 && x < n && y < n;
            tile[ty][tx] = inside ? now[(size_t)y * n + x] : 0.0f;
        }
    __syncthreads();
    const int x = left + threadIdx.x, y = top + threadIdx.y;
    if (x >= n || y >= n) return;
    const int tx = threadIdx.x + REACH, ty = threadIdx.y + REACH;
    float sum = 2.0f * weights[0] * tile[ty][tx];
#pragma unroll
    for (int k = 1; k <= REACH; k++)
        sum += weights[k] *
               (tile[ty][tx - k] + tile[ty][tx + k] + tile[ty - k][tx] + tile[ty + k][tx]);
    const size_t i = (size_t)y * n + x;
    next[i] = 2.0f * tile[ty][tx] - before[i] + speeds[i] * sum;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 40, 16000);
    const size_t count = (size_t)n * n;
    const std::vector<float> now = quick_values(count, 2191), before = quick_values(count, 2192);
    std::vector<float> speeds(count);
    for (size_t i = 0; i < count; i++) speeds[i] = 0.1f + 0.001f * (i / 512 % 64);
    const float own[REACH + 1] = {-205.0f / 72, 8.0f / 5, -1.0f / 5, 8.0f / 315, -1.0f / 560};
    CHECK(cudaMemcpyToSymbol(weights, own, sizeof(own)));
    const float *d_now = to_device(now), *d_before = to_device(before);
    const float *d_speeds = to_device(speeds);
    float *d_next = device_zeros<float>(count);

    constexpr int width = 16, height = 16;
    dim3 block(width, height);
    dim3 grid((n + width - 1) / width, (n + height - 1) / height);
    wave_step<width, height><<<grid, block>>>(d_now, d_before, d_speeds, d_next, n);
    finish_launches();

    const std::vector<float> next = from_device(d_next, count);
    return verdict(sampled_error(next, [&](size_t i) {
        const int x = (int)(i % n), y = (int)(i / n);
        const auto at = [&](int px, int py) {
            return px >= 0 && py >= 0 && px < n && py < n ? now[(size_t)py * n + px] : 0.0f;
        };
        float sum = 2.0f * own[0] * at(x, y);
        for (int k = 1; k <= REACH; k++)
            sum += own[k] * (at(x - k, y) + at(x + k, y) + at(x, y - k) + at(x, y + k));
        return 2.0f * at(x, y) - before[i] + speeds[i] * sum;
    }));
}

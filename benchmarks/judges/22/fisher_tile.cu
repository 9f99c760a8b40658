// Population biology: a step of Fisher's equation on n x n cells, with a tile and its halo in
// shared memory, and no flow over the border.
//
//     nvcc -O2 -o fisher_tile fisher_tile.cu && ./fisher_tile 1500

#include "summed.h"

#define TILE 16

__global__ void fisher_step(const float *u, float *next, int n, float d, float r) {
    __shared__ float s[TILE + 2][TILE + 2];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * TILE + tx;
    int y = blockIdx.y * TILE + ty;
    int cx = min(x, n - 1), cy = min(y, n - 1);

    s[ty + 1][tx + 1] = u[cy * n + cx];
    if (tx == 0) s[ty + 1][0] = u[cy * n + max(cx - 1, 0)];
    if (tx == TILE - 1) s[ty + 1][TILE + 1] = u[cy * n + min(cx + 1, n - 1)];
    if (ty == 0) s[0][tx + 1] = u[max(cy - 1, 0) * n + cx];
    if (ty == TILE - 1) s[TILE + 1][tx + 1] = u[min(cy + 1, n - 1) * n + cx];
    __syncthreads();

    if (x < n && y < n) {
        float c = s[ty + 1][tx + 1];
        float lap = s[ty + 1][tx] + s[ty + 1][tx + 2];
        lap += s[ty][tx + 1] + s[ty + 2][tx + 1] - 4.0f * c;
        next[y * n + x] = c + d * lap + r * c * (1.0f - c);
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 50, 20000);
    const std::vector<float> u = quick_values((size_t)n * n, 2321);
    const float *d_u = to_device(u);
    float *d_next = device_zeros<float>((size_t)n * n);

    dim3 block(TILE, TILE);
    dim3 grid((n + TILE - 1) / TILE, (n + TILE - 1) / TILE);
    fisher_step<<<grid, block>>>(d_u, d_next, n, 0.2f, 0.05f);
    finish_launches();

    const std::vector<float> next = from_device(d_next, (size_t)n * n);
    say_sum("density", next);
    return verdict(sampled_error(next, [&](size_t e) {
        const int x = (int)(e % n), y = (int)(e / n);
        auto at = [&](int i, int j) {
            i = i < 0 ? 0 : i >= n ? n - 1 : i, j = j < 0 ? 0 : j >= n ? n - 1 : j;
            return u[(size_t)j * n + i];
        };
        const float c = u[e];
        const float lap = at(x - 1, y) + at(x + 1, y) + at(x, y - 1) + at(x, y + 1) - 4.0f * c;
        return c + 0.2f * lap + 0.05f * c * (1.0f - c);
    }));
}

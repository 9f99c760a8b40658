// One step of a lattice-Boltzmann method on an n x n periodic grid: nine populations per cell,
// each with an array of its own, are pulled from the neighbours and relaxed.
//
//     nvcc -O2 -o lattice_d2q9 lattice_d2q9.cu && ./lattice_d2q9 512

#include "../judge.h"

#define DIRECTIONS 9

__host__ __device__ inline void stream_and_relax(int n, int x, int y, const float *old_cells,
                                                 float *f) {
    const int ex[DIRECTIONS] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
    const int ey[DIRECTIONS] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    const float weight[DIRECTIONS] = {4.0f / 9,  1.0f / 9,  1.0f / 9,  1.0f / 9, 1.0f / 9,
                                      1.0f / 36, 1.0f / 36, 1.0f / 36, 1.0f / 36};
    float density = 0.0f, ux = 0.0f, uy = 0.0f;
#pragma unroll
    for (int q = 0; q < DIRECTIONS; q++) {
        const int from_x = (x - ex[q] + n) % n, from_y = (y - ey[q] + n) % n;
        f[q] = old_cells[q * n * n + from_y * n + from_x];
        density += f[q];
        ux += ex[q] * f[q];
        uy += ey[q] * f[q];
    }
    ux /= density;
    uy /= density;
    const float square = 1.5f * (ux * ux + uy * uy);
#pragma unroll
    for (int q = 0; q < DIRECTIONS; q++) {
        const float along = 3.0f * (ex[q] * ux + ey[q] * uy);
        const float balance = weight[q] * density * (1.0f + along + 0.5f * along * along - square);
        f[q] += 0.6f * (balance - f[q]);
    }
}

__global__ void lattice_d2q9(int n, const float *old_cells, float *new_cells) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < n && y < n) {
        float f[DIRECTIONS];
        stream_and_relax(n, x, y, old_cells, f);
#pragma unroll
        for (int q = 0; q < DIRECTIONS; q++) new_cells[q * n * n + y * n + x] = f[q];
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 100, 12000);
    const size_t cells = (size_t)n * n, count = DIRECTIONS * cells;
    std::vector<float> old_cells = fixed_values(count, 1);
    for (float &value : old_cells) value = 0.1f + 0.01f * value;
    float *device_old = to_device(old_cells), *device_new = to_device(std::vector<float>(count));

    dim3 block(64, 4);
    dim3 grid(blocks_for(n, block.x), blocks_for(n, block.y));
    lattice_d2q9<<<grid, block>>>(n, device_old, device_new);
    finish_launches();

    return verdict(sampled_error(from_device(device_new, count), [&](size_t e) {
        float f[DIRECTIONS];
        stream_and_relax(n, (int)(e % cells % n), (int)(e % cells / n), old_cells.data(), f);
        return f[e / cells];
    }));
}

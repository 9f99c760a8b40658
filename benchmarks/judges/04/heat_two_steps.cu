// Two time steps of the heat equation on an n x n plate in one launch. A block loads its points and
// a margin of two into dynamic shared memory, makes the first step there, and stores the second.
// The rim of the plate keeps its temperature.
//
//     nvcc -O2 -o heat_two_steps heat_two_steps.cu && ./heat_two_steps 1000

#include "../judge.h"

#define MARGIN 2
#define RATE 0.2f

__host__ __device__ inline bool on_rim(int n, int x, int y) {
    return x <= 0 || y <= 0 || x >= n - 1 || y >= n - 1;
}

__device__ inline float next_value(const float *at, int pitch, bool fixed) {
    if (fixed) return at[0];
    return at[0] + RATE * (at[-1] + at[1] + at[-pitch] + at[pitch] - 4.0f * at[0]);
}

#pragma cutune kernel heat_two_steps data(n) block(x: 8..128, y: 4..32) where(x * y <= 1024) \
    grid(ceil(n / x), ceil(n / y)) shared(4 * ((x + 4) * (y + 4) + (x + 2) * (y + 2)))
__global__ void heat_two_steps(int n, const float *before, float *after) {
    extern __shared__ float tiles[];
    const int wide = blockDim.x + 2 * MARGIN, high = blockDim.y + 2 * MARGIN;
    const int inner = wide - 2;
    float *first = tiles, *second = tiles + wide * high;
    const int left = blockIdx.x * blockDim.x - MARGIN, top = blockIdx.y * blockDim.y - MARGIN;
    for (int row = threadIdx.y; row < high; row += blockDim.y)
        for (int column = threadIdx.x; column < wide; column += blockDim.x) {
            const int x = min(max(left + column, 0), n - 1), y = min(max(top + row, 0), n - 1);
            first[row * wide + column] = before[y * n + x];
        }
    __syncthreads();
    for (int row = threadIdx.y; row < high - 2; row += blockDim.y)
        for (int column = threadIdx.x; column < inner; column += blockDim.x)
            second[row * inner + column] =
                next_value(&first[(row + 1) * wide + column + 1], wide,
                           on_rim(n, left + 1 + column, top + 1 + row));
    __syncthreads();
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < n && y < n)
        after[y * n + x] = next_value(&second[(threadIdx.y + 1) * inner + threadIdx.x + 1], inner,
                                      on_rim(n, x, y));
}

static float host_value(int n, const std::vector<float> &plate, int x, int y, int steps) {
    if (steps == 0 || on_rim(n, x, y)) return plate[(size_t)y * n + x];
    const auto at = [&](int dx, int dy) { return host_value(n, plate, x + dx, y + dy, steps - 1); };
    return at(0, 0) + RATE * (at(-1, 0) + at(1, 0) + at(0, -1) + at(0, 1) - 4.0f * at(0, 0));
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 150);
    const size_t count = (size_t)n * n;
    const std::vector<float> plate = fixed_values(count, 1);
    float *device_plate = to_device(plate), *device_after = to_device(std::vector<float>(count));

    const dim3 block(16, 16);
    const dim3 grid(blocks_for(n, block.x), blocks_for(n, block.y));
    const size_t floats = (block.x + 4) * (block.y + 4) + (block.x + 2) * (block.y + 2);
    heat_two_steps<<<grid, block, floats * sizeof(float)>>>(n, device_plate, device_after);
    finish_launches();

    return verdict(sampled_error(from_device(device_after, count), [&](size_t e) {
        return host_value(n, plate, (int)(e % n), (int)(e / n), 2);
    }));
}

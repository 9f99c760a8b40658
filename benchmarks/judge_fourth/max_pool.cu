// The largest of 3 x 3 in steps of two, on 32 planes of n x n features.
//
//     nvcc -O2 -o max_pool max_pool.cu && ./max_pool 224

#include "../judge/judge.h"

#include <algorithm>

#define CHANNELS 32

__global__ void max_pool(int n, int side, int channels, const float *input, float *output) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int channel = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= side || y >= side || channel >= channels) return;
    const float *plane = input + channel * n * n;
    float most = -INFINITY;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            const int column = 2 * x + dx, row = 2 * y + dy;
            if (column >= 0 && row >= 0 && column < n && row < n)
                most = fmaxf(most, plane[row * n + column]);
        }
    output[(channel * side + y) * side + x] = most;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 40, 8000), side = (n + 1) / 2;
    const size_t plane = (size_t)n * n, count = (size_t)side * side * CHANNELS;
    const std::vector<float> input = fixed_values(plane * CHANNELS, 1);
    const float *device_input = to_device(input);
    float *device_output = to_device(std::vector<float>(count));

    const dim3 block(16, 8, 2);
    const dim3 grid(blocks_for(side, block.x), blocks_for(side, block.y),
                    blocks_for(CHANNELS, block.z));
    max_pool<<<grid, block>>>(n, side, CHANNELS, device_input, device_output);
    finish_launches();

    return verdict(sampled_error(from_device(device_output, count), [&](size_t e) {
        const int x = (int)(e % side), y = (int)(e / side % side);
        const float *own = &input[e / side / side * plane];
        float most = -INFINITY;
        for (int row = std::max(2 * y - 1, 0); row <= std::min(2 * y + 1, n - 1); row++)
            for (int column = std::max(2 * x - 1, 0); column <= std::min(2 * x + 1, n - 1);
                 column++)
                most = std::max(most, own[(size_t)row * n + column]);
        return most;
    }));
}

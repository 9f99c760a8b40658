// The largest of 3 x 3 in steps of two, on 32 planes of 2 n x 2 n features.
//
//     nvcc -O2 -o max_pool max_pool.cu && ./max_pool 112

#include "../judge.h"

#include <algorithm>

#define CHANNELS 32

__global__ void max_pool(int n, int channels, const float *input, float *output) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int channel = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= n || y >= n || channel >= channels) return;
    const int width = 2 * n;
    const float *plane = input + channel * width * width;
    float most = -INFINITY;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            const int column = 2 * x + dx, row = 2 * y + dy;
            if (column >= 0 && row >= 0) most = fmaxf(most, plane[row * width + column]);
        }
    output[(channel * n + y) * n + x] = most;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 20, 4000), width = 2 * n;
    const size_t plane = (size_t)width * width, count = (size_t)n * n * CHANNELS;
    const std::vector<float> input = fixed_values(plane * CHANNELS, 1);
    const float *device_input = to_device(input);
    float *device_output = to_device(std::vector<float>(count));

    const dim3 block(16, 8, 2);
    const dim3 grid(blocks_for(n, block.x), blocks_for(n, block.y), blocks_for(CHANNELS, block.z));
    max_pool<<<grid, block>>>(n, CHANNELS, device_input, device_output);
    finish_launches();

    return verdict(sampled_error(from_device(device_output, count), [&](size_t e) {
        const int x = (int)(e % n), y = (int)(e / n % n);
        const float *own = &input[e / n / n * plane];
        float most = -INFINITY;
        for (int row = std::max(2 * y - 1, 0); row <= 2 * y + 1; row++)
            for (int column = std::max(2 * x - 1, 0); column <= 2 * x + 1; column++)
                most = std::max(most, own[(size_t)row * width + column]);
        return most;
    }));
}

// A 9 x 9 filter over an n x n image, its weights in constant memory.
//
//     nvcc -O2 -o wide_filter wide_filter.cu && ./wide_filter 1000

#include "../judge.h"

#define RADIUS 4
#define WIDTH (2 * RADIUS + 1)

__constant__ float weights[WIDTH * WIDTH];

__global__ void wide_filter(int n, const float *image, float *filtered) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= RADIUS && j >= RADIUS && i < n - RADIUS && j < n - RADIUS) {
        float sum = 0.0f;
        for (int dy = -RADIUS; dy <= RADIUS; dy++)
            for (int dx = -RADIUS; dx <= RADIUS; dx++)
                sum += weights[(dy + RADIUS) * WIDTH + dx + RADIUS] * image[(j + dy) * n + i + dx];
        filtered[j * n + i] = sum;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 200);
    const size_t count = (size_t)n * n;
    const std::vector<float> image = fixed_values(count, 1);
    const std::vector<float> kernel = fixed_values(WIDTH * WIDTH, 2);
    CHECK(cudaMemcpyToSymbol(weights, kernel.data(), kernel.size() * sizeof(float)));
    float *device_image = to_device(image), *device_filtered = to_device(std::vector<float>(count));

    dim3 block(16, 16);
    dim3 grid(blocks_for(n, block.x), blocks_for(n, block.y));
    wide_filter<<<grid, block>>>(n, device_image, device_filtered);
    finish_launches();

    return verdict(sampled_error(from_device(device_filtered, count), [&](size_t e) {
        const int i = (int)(e % n), j = (int)(e / n);
        if (i < RADIUS || j < RADIUS || i >= n - RADIUS || j >= n - RADIUS) return 0.0f;
        float sum = 0.0f;
        for (int dy = -RADIUS; dy <= RADIUS; dy++)
            for (int dx = -RADIUS; dx <= RADIUS; dx++)
                sum += kernel[(dy + RADIUS) * WIDTH + dx + RADIUS] *
                       image[(size_t)(j + dy) * n + i + dx];
        return sum;
    }));
}

// A Gaussian blur of an n x n image in two passes, along rows and along columns, eleven points
// each; pixels beyond the edge are those at the edge.
//
//     nvcc -O2 -o gauss_blur gauss_blur.cu && ./gauss_blur 1000

#include "../judge.h"

#include <algorithm>

#define RADIUS 5

__constant__ float weights[2 * RADIUS + 1];

__global__ void blur_rows(const float *source, float *target, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0.0f;
    for (int d = -RADIUS; d <= RADIUS; d++)
        sum += weights[d + RADIUS] * source[y * width + min(max(x + d, 0), width - 1)];
    target[y * width + x] = sum;
}

__global__ void blur_columns(const float *source, float *target, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0.0f;
    for (int d = -RADIUS; d <= RADIUS; d++)
        sum += weights[d + RADIUS] * source[min(max(y + d, 0), height - 1) * width + x];
    target[y * width + x] = sum;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 150);
    const size_t count = (size_t)n * n;
    const std::vector<float> image = fixed_values(count, 1);
    float bell[2 * RADIUS + 1], whole = 0.0f;
    for (int d = -RADIUS; d <= RADIUS; d++) whole += bell[d + RADIUS] = expf(-d * d / 8.0f);
    for (float &weight : bell) weight /= whole;
    CHECK(cudaMemcpyToSymbol(weights, bell, sizeof(bell)));
    float *device_image = to_device(image), *device_rows = to_device(std::vector<float>(count));
    float *device_blurred = to_device(std::vector<float>(count));

    dim3 block(16, 16);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    blur_rows<<<grid, block>>>(device_image, device_rows, n, n);
    blur_columns<<<grid, block>>>(device_rows, device_blurred, n, n);
    finish_launches();

    return verdict(sampled_error(from_device(device_blurred, count), [&](size_t e) {
        const int x = (int)(e % n), y = (int)(e / n);
        float sum = 0.0f;
        for (int dy = -RADIUS; dy <= RADIUS; dy++) {
            const size_t row = std::min(std::max(y + dy, 0), n - 1);
            float along = 0.0f;
            for (int dx = -RADIUS; dx <= RADIUS; dx++)
                along += bell[dx + RADIUS] * image[row * n + std::min(std::max(x + dx, 0), n - 1)];
            sum += bell[dy + RADIUS] * along;
        }
        return sum;
    }));
}

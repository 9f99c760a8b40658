// An n x n image of a torus by marching rays: each ray goes on by its distance from the torus until
// it is there, or far away.
//
//     nvcc -O2 -o march_torus march_torus.cu && ./march_torus 1000

#include "../judge.h"

#define FAR 8.0f
#define NEAR 1e-4f
#define MOST_STEPS 96

__host__ __device__ inline float distance_to_torus(float x, float y, float z) {
    const float depth = z - 4.0f, tilted = 0.8f * y + 0.6f * depth, rest = 0.8f * depth - 0.6f * y;
    const float around = sqrtf(x * x + rest * rest) - 1.5f;
    return sqrtf(around * around + tilted * tilted) - 0.5f;
}

__host__ __device__ inline float depth_of_ray(float x, float y) {
    const float scale = 1.0f / sqrtf(x * x + y * y + 1.0f);
    float depth = 0.0f;
    for (int step = 0; step < MOST_STEPS && depth < FAR; step++) {
        const float along = depth * scale;
        const float distance = distance_to_torus(x * along, y * along, along);
        if (distance < NEAR) break;
        depth += distance;
    }
    return fminf(depth, FAR);
}

__global__ void march_torus(int n, float *depths) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column < n && row < n)
        depths[row * n + column] =
            depth_of_ray((column + 0.5f) / n * 2.0f - 1.0f, (row + 0.5f) / n * 2.0f - 1.0f);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64);
    const size_t count = (size_t)n * n;
    float *device_depths = to_device(std::vector<float>(count));

    const dim3 block(16, 16);
    const dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    march_torus<<<grid, block>>>(n, device_depths);
    finish_launches();

    return verdict(sampled_error(from_device(device_depths, count), [&](size_t e) {
        return depth_of_ray((e % n + 0.5f) / n * 2.0f - 1.0f, (e / n + 0.5f) / n * 2.0f - 1.0f);
    }));
}

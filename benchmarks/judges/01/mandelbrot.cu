// Iterations until a point of the plane leaves the circle of radius 2, at most 200: neighbouring
// threads leave the loop at different times.
//
//     nvcc -O2 -o mandelbrot mandelbrot.cu && ./mandelbrot 1000

#include "../judge.h"

#define MOST 200

__host__ __device__ inline int iterations(int n, int i, int j) {
    const float cx = 3.0f * i / n - 2.2f, cy = 2.4f * j / n - 1.2f;
    float x = 0.0f, y = 0.0f;
    int count = 0;
    while (count < MOST && x * x + y * y < 4.0f) {
        const float next = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = next;
        count++;
    }
    return count;
}

__global__ void mandelbrot(int n, int *counts) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n) counts[j * n + i] = iterations(n, i, j);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 200);
    const size_t count = (size_t)n * n;
    int *device_counts = to_device(std::vector<int>(count));

    dim3 block(16, 16);
    dim3 grid(blocks_for(n, block.x), blocks_for(n, block.y));
    mandelbrot<<<grid, block>>>(n, device_counts);
    finish_launches();

    // At the edge of the set a rounding decides; so many pixels may differ from the host's.
    const std::vector<int> found = from_device(device_counts, count);
    size_t looked_at = 0, different = 0;
    for (size_t e = 0; e < count; e += count / 1000 + 1, looked_at++)
        different += found[e] != iterations(n, (int)(e % n), (int)(e / n));
    return verdict(different <= looked_at / 50 ? 0.0 : 1.0);
}

// Steps of Newton's method for z^3 = 1 from each point of a square, at most 60: neighbouring
// threads leave the loop at different times.
//
//     nvcc -O2 -o newton_fractal newton_fractal.cu && ./newton_fractal 1000

#include "../judge.h"

#define MOST 60

__host__ __device__ inline int steps(float x, float y) {
    int count = 0;
    for (; count < MOST; count++) {
        const float xx = x * x - y * y, xy = 2.0f * x * y;
        const float fx = xx * x - xy * y - 1.0f, fy = xx * y + xy * x;
        if (fx * fx + fy * fy < 1e-6f) break;
        const float scale = 3.0f * (xx * xx + xy * xy) + 1e-20f;
        x -= (fx * xx + fy * xy) / scale;
        y -= (fy * xx - fx * xy) / scale;
    }
    return count;
}

__global__ void newton_fractal(unsigned char *counts, int width, int height, float zoom) {
    const int px = blockIdx.x * blockDim.x + threadIdx.x;
    const int py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px < width && py < height) {
        const float x = zoom * (2.0f * px / width - 1.0f), y = zoom * (2.0f * py / height - 1.0f);
        counts[py * width + px] = (unsigned char)steps(x, y);
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 150);
    const size_t count = (size_t)n * n;
    unsigned char *device_counts = to_device(std::vector<unsigned char>(count));

    const float zoom = 1.5f;
    dim3 block(32, 32);
    dim3 grid((n + 31) / 32, (n + 31) / 32);
    newton_fractal<<<grid, block>>>(device_counts, n, n, zoom);
    finish_launches();

    // At the borders of the basins a rounding decides; so some pixels may differ from the host's.
    const std::vector<unsigned char> found = from_device(device_counts, count);
    size_t looked_at = 0, different = 0;
    for (size_t e = 0; e < count; e += count / 1000 + 1, looked_at++)
        different += found[e] != steps(zoom * (2.0f * (e % n) / n - 1.0f),
                                       zoom * (2.0f * (e / n) / n - 1.0f));
    return verdict(different <= looked_at / 50 ? 0.0 : 1.0);
}

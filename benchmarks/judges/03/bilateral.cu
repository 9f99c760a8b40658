// A bilateral filter of an n x n image: a mean of 9 x 9 pixels, of which near and similar ones
// count most. Pixels beyond the edge are left out.
//
//     nvcc -O2 -o bilateral bilateral.cu && ./bilateral 1000

#include "../judge.h"

#define RADIUS 4

__host__ __device__ inline float weight(int dx, int dy, float difference) {
    const float distance = (float)(dx * dx + dy * dy);
    return expf(-0.05f * distance - 20.0f * difference * difference);
}

__global__ void bilateral(const float *source, float *target, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const float centre = source[y * width + x];
    float sum = 0.0f, weights = 0.0f;
    for (int dy = -RADIUS; dy <= RADIUS; dy++) {
        for (int dx = -RADIUS; dx <= RADIUS; dx++) {
            const int nx = x + dx, ny = y + dy;
            if (nx < 0 || ny < 0 || nx >= width || ny >= height) continue;
            const float pixel = source[ny * width + nx];
            const float w = weight(dx, dy, pixel - centre);
            sum += w * pixel;
            weights += w;
        }
    }
    target[y * width + x] = sum / weights;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 150);
    const size_t count = (size_t)n * n;
    const std::vector<float> image = fixed_values(count, 1);
    float *device_image = to_device(image), *device_smooth = to_device(std::vector<float>(count));

    const dim3 block(16, 16);
    const dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    bilateral<<<grid, block>>>(device_image, device_smooth, n, n);
    finish_launches();

    return verdict(sampled_error(from_device(device_smooth, count), [&](size_t e) {
        const int x = (int)(e % n), y = (int)(e / n);
        double sum = 0.0, weights = 0.0;
        for (int dy = -RADIUS; dy <= RADIUS; dy++)
            for (int dx = -RADIUS; dx <= RADIUS; dx++) {
                if (x + dx < 0 || y + dy < 0 || x + dx >= n || y + dy >= n) continue;
                const float pixel = image[(size_t)(y + dy) * n + x + dx];
                const double w = weight(dx, dy, pixel - image[e]);
                sum += w * pixel;
                weights += w;
            }
        return sum / weights;
    }));
}

// Sharpens an n x n image of three bytes per pixel: a blur of 7 x 7 whole weights in constant
// memory, which leaves out what lies outside the image, and the difference from it once more.
//
//     nvcc -O2 -o unsharp_rgb unsharp_rgb.cu && ./unsharp_rgb 1000

#include "../host.h"

#define RADIUS 3
#define WIDTH (2 * RADIUS + 1)

__constant__ int blur[WIDTH * WIDTH];

__host__ __device__ inline unsigned char sharpened(int pixel, int sum, int weight) {
    const int value = 2 * pixel - sum / weight;
    return (unsigned char)(value < 0 ? 0 : value > 255 ? 255 : value);
}

__global__ void unsharp(const uchar3 *input, uchar3 *output, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int r = 0, g = 0, b = 0, total = 0;
    for (int dy = -RADIUS; dy <= RADIUS; dy++) {
        for (int dx = -RADIUS; dx <= RADIUS; dx++) {
            int px = x + dx, py = y + dy;
            if (px >= 0 && px < width && py >= 0 && py < height) {
                int weight = blur[(dy + RADIUS) * WIDTH + dx + RADIUS];
                uchar3 pixel = input[py * width + px];
                r += weight * pixel.x;
                g += weight * pixel.y;
                b += weight * pixel.z;
                total += weight;
            }
        }
    }
    uchar3 own = input[y * width + x];
    output[y * width + x] = make_uchar3(sharpened(own.x, r, total), sharpened(own.y, g, total),
                                        sharpened(own.z, b, total));
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 48, 16384);
    const size_t count = (size_t)n * n;
    const std::vector<uchar3> image = [&] {
        const std::vector<unsigned char> bytes = quick_bits<unsigned char>(3 * count, 1);
        std::vector<uchar3> pixels(count);
        memcpy((void *)pixels.data(), bytes.data(), 3 * count);
        return pixels;
    }();
    int weights[WIDTH * WIDTH];
    for (int e = 0; e < WIDTH * WIDTH; e++) {
        const int dx = e % WIDTH - RADIUS, dy = e / WIDTH - RADIUS;
        weights[e] = (int)(100.0f * expf(-0.15f * (dx * dx + dy * dy)) + 0.5f);
    }
    CHECK(cudaMemcpyToSymbol(blur, weights, sizeof(weights)));
    const uchar3 *d_image = to_device(image);
    uchar3 *d_result = device_zeros<uchar3>(count);

    dim3 block(16, 16);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    unsharp<<<grid, block>>>(d_image, d_result, n, n);
    finish_launches();

    const std::vector<unsigned char> found = from_device((unsigned char *)d_result, 3 * count);
    const unsigned char *bytes = (const unsigned char *)image.data();
    return verdict(sampled_error(found, [&](size_t e) {
        const int x = (int)(e / 3 % n), y = (int)(e / 3 / n);
        int sum = 0, total = 0;
        for (int k = 0; k < WIDTH * WIDTH; k++) {
            const int px = x + k % WIDTH - RADIUS, py = y + k / WIDTH - RADIUS;
            if (px < 0 || py < 0 || px >= n || py >= n) continue;
            sum += weights[k] * bytes[3 * ((size_t)py * n + px) + e % 3];
            total += weights[k];
        }
        return sharpened(bytes[e], sum, total);
    }));
}

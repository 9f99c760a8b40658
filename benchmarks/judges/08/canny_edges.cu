// Edges of an n x n image of bytes after Canny: a 5 x 5 blur in whole numbers, gradients with their
// direction, and the pixels where the gradient is largest along its direction. Three kernels.
//
//     nvcc -O2 -o canny_edges canny_edges.cu && ./canny_edges 1000

#include "../host.h"

__host__ __device__ inline int clamped(int at, int size) {
    return at < 0 ? 0 : at >= size ? size - 1 : at;
}

__host__ __device__ inline unsigned char blurred(const unsigned char *image, int x, int y,
                                                 int width, int height) {
    const int weights[5] = {1, 4, 6, 4, 1};
    int sum = 0;
    for (int dy = -2; dy <= 2; dy++)
        for (int dx = -2; dx <= 2; dx++)
            sum += weights[dy + 2] * weights[dx + 2] *
                   image[(size_t)clamped(y + dy, height) * width + clamped(x + dx, width)];
    return (unsigned char)((sum + 128) >> 8);
}

__global__ void blur(const unsigned char *image, unsigned char *smooth, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) smooth[y * width + x] = blurred(image, x, y, width, height);
}

// The direction is a multiple of 45 degrees: 0 along x, 1 down to the right, 2 along y, 3 up.
__global__ void gradient(const unsigned char *smooth, unsigned short *strength,
                         unsigned char *direction, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int at = y * width + x;
    if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
        strength[at] = 0;
        direction[at] = 0;
        return;
    }
    const unsigned char *p = smooth + at;
    int gx = p[1 - width] + 2 * p[1] + p[1 + width] - p[-1 - width] - 2 * p[-1] - p[-1 + width];
    int gy = p[width - 1] + 2 * p[width] + p[width + 1] - p[-width - 1] - 2 * p[-width] -
             p[-width + 1];
    strength[at] = abs(gx) + abs(gy);
    if (5 * abs(gy) < 2 * abs(gx)) direction[at] = 0;
    else if (5 * abs(gx) < 2 * abs(gy)) direction[at] = 2;
    else direction[at] = (gx > 0) == (gy > 0) ? 1 : 3;
}

__global__ void thin(const unsigned short *strength, const unsigned char *direction,
                     unsigned char *edges, int width, int height, int low, int high) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
    int at = y * width + x, here = strength[at];
    if (here < low) return;
    int way = direction[at];
    int step = way == 0 ? 1 : way == 1 ? width + 1 : way == 2 ? width : 1 - width;
    if (here > strength[at - step] && here >= strength[at + step])
        edges[at] = here >= high ? 255 : 128;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64), low = 60, high = 180;
    const size_t count = (size_t)n * n;
    std::vector<unsigned char> image = quick_bits<unsigned char>(count, 1);
    // Noise on squares of 23 pixels.
    for (size_t e = 0; e < count; e++)
        image[e] = (unsigned char)(image[e] / 4 + 120 * (((e % n) / 23 + e / n / 23) % 2));
    const unsigned char *d_image = to_device(image);
    unsigned char *d_smooth = device_zeros<unsigned char>(count);
    unsigned short *d_strength = device_zeros<unsigned short>(count);
    unsigned char *d_direction = device_zeros<unsigned char>(count);
    unsigned char *d_edges = device_zeros<unsigned char>(count);

    dim3 block(16, 16);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    blur<<<grid, block>>>(d_image, d_smooth, n, n);
    gradient<<<grid, block>>>(d_smooth, d_strength, d_direction, n, n);
    thin<<<grid, block>>>(d_strength, d_direction, d_edges, n, n, low, high);
    finish_launches();

    const auto sobel = [&](int x, int y, int &gx, int &gy) {
        gx = gy = 0;
        if (x == 0 || y == 0 || x == n - 1 || y == n - 1) return;
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                const int value = blurred(image.data(), x + dx, y + dy, n, n);
                gx += dx * (2 - abs(dy)) * value;
                gy += dy * (2 - abs(dx)) * value;
            }
    };
    return verdict(sampled_error(from_device(d_edges, count), [&](size_t e) {
        const int x = (int)(e % n), y = (int)(e / n);
        int gx, gy, ax, ay, bx, by;
        sobel(x, y, gx, gy);
        const int here = abs(gx) + abs(gy);
        if (here < low) return 0;
        int dx = 1, dy = (gx > 0) == (gy > 0) ? 1 : -1;
        if (5 * abs(gy) < 2 * abs(gx)) dy = 0;
        else if (5 * abs(gx) < 2 * abs(gy)) dx = 0, dy = 1;
        sobel(x - dx, y - dy, ax, ay);
        sobel(x + dx, y + dy, bx, by);
        if (here <= abs(ax) + abs(ay) || here < abs(bx) + abs(by)) return 0;
        return here >= high ? 255 : 128;
    }));
}

// An image n wide of three bytes per pixel is turned by a quarter: rows are read, columns written.
//
//     nvcc -O2 -o rotate_rgb rotate_rgb.cu && ./rotate_rgb 1000

#include "../host.h"

__global__ void rotate(const unsigned char *__restrict__ image, unsigned char *__restrict__ turned,
                       int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const unsigned char *from = image + 3 * (y * width + x);
    unsigned char *to = turned + 3 * (x * height + height - 1 - y);
    to[0] = from[0];
    to[1] = from[1];
    to[2] = from[2];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64, 25000);
    const int width = n, height = n / 4 * 3 + 1;
    const size_t count = 3 * (size_t)width * height;
    const std::vector<unsigned char> image = quick_bits<unsigned char>(count, 1);
    const unsigned char *d_image = to_device(image);
    unsigned char *d_turned = device_zeros<unsigned char>(count);

    dim3 block(16, 16);
    dim3 grid((width + block.x - 1) / block.x, (height + block.y - 1) / block.y);
    rotate<<<grid, block>>>(d_image, d_turned, width, height);
    finish_launches();

    return verdict(sampled_error(from_device(d_turned, count), [&](size_t e) {
        const size_t x = e / 3 / height, y = height - 1 - e / 3 % height;
        return image[3 * (y * width + x) + e % 3];
    }));
}

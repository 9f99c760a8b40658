// An n x n image of four bytes per pixel to one of grey bytes.
//
//     nvcc -O2 -o grey grey.cu && ./grey 1000

#include "../judge.h"

__host__ __device__ inline unsigned char luminance(uchar4 pixel) {
    return (unsigned char)(0.299f * pixel.x + 0.587f * pixel.y + 0.114f * pixel.z);
}

__global__ void grey(const uchar4 *pixels, unsigned char *greys, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    greys[y * width + x] = luminance(pixels[y * width + x]);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 200);
    const size_t count = (size_t)n * n;
    std::mt19937 generator(1);
    std::vector<uchar4> pixels(count);
    for (uchar4 &pixel : pixels) {
        const unsigned bits = (unsigned)generator();
        pixel = make_uchar4(bits & 255, bits >> 8 & 255, bits >> 16 & 255, bits >> 24);
    }
    uchar4 *device_pixels = to_device(pixels);
    unsigned char *device_greys = to_device(std::vector<unsigned char>(count));

    dim3 block(32, 8);
    dim3 grid(blocks_for(n, block.x), blocks_for(n, block.y));
    grey<<<grid, block>>>(device_pixels, device_greys, n, n);
    finish_launches();

    // A sum that is nearly whole may be rounded to either side.
    const std::vector<unsigned char> found = from_device(device_greys, count);
    std::vector<float> actual(count);
    for (size_t e = 0; e < count; e++)
        actual[e] = abs(found[e] - luminance(pixels[e])) <= 1 ? 1.0f : 0.0f;
    return verdict(sampled_error(actual, [](size_t) { return 1.0f; }));
}

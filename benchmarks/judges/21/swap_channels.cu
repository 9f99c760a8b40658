// Images: the first and the third plane of a planar picture change places, n bytes each.
//
//     nvcc -O2 -o swap_channels swap_channels.cu && ./swap_channels 3000000

#include "checksum.h"

__global__ void swapRedBlue(unsigned char *image, int planeSize) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= planeSize) return;
    const unsigned char red = image[i];
    image[i] = image[i + 2 * planeSize];
    image[i + 2 * planeSize] = red;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 5000, 300000000);
    const std::vector<unsigned char> image = quick_bits<unsigned char>(3 * (size_t)n, 2161);
    unsigned char *d_image = to_device(image);

    const int threads = 128;
    swapRedBlue<<<(n + threads - 1) / threads, threads>>>(d_image, n);
    finish_launches();

    const std::vector<unsigned char> swapped = from_device(d_image, image.size());
    double weighted = 0.0;
    for (size_t i = 0; i < swapped.size(); i++) weighted += (double)swapped[i] * (double)(i % 1021);
    printf("checksum of image: %.10g\n", weighted);
    return verdict(sampled_error(swapped, [&](size_t e) {
        const size_t plane = e / n, at = e % n;
        return image[(2 - plane) * n + at];
    }));
}

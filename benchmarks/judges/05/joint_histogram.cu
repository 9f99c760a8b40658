// The joint histogram of two n x n images of bytes, 64 x 64 bins, as one needs it for their mutual
// information. The second image is nearly the negative of the first.
//
//     nvcc -O2 -o joint_histogram joint_histogram.cu && ./joint_histogram 1000

#include "../host.h"

const int BINS = 64;

__global__ void joint_histogram(const unsigned char *fixed, const unsigned char *moving, int width,
                                int height, unsigned int *bins) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
        int i = y * width + x;
        int bin = (fixed[i] >> 2) * BINS + (moving[i] >> 2);
        atomicAdd(bins + bin, 1u);
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 100);
    const size_t count = (size_t)n * n;
    std::vector<unsigned char> fixed(count), moving(count);
    for (int y = 0; y < n; y++)
        for (int x = 0; x < n; x++) {
            const size_t i = (size_t)y * n + x;
            const unsigned noise = mixed((unsigned)i);
            const unsigned value = (unsigned)(128LL * (x + y) / n) * 7 / 8;
            fixed[i] = (unsigned char)(value + (noise & 31));
            moving[i] = (unsigned char)(255 - value - (noise >> 8 & 31));
        }
    const unsigned char *d_fixed = to_device(fixed), *d_moving = to_device(moving);
    unsigned *d_bins = device_zeros<unsigned>(BINS * BINS);

    dim3 block(16, 16, 1);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y, 1);
    joint_histogram<<<grid, block>>>(d_fixed, d_moving, n, n, d_bins);
    finish_launches();

    std::vector<unsigned> expected(BINS * BINS);
    for (size_t i = 0; i < count; i++) expected[(fixed[i] >> 2) * BINS + (moving[i] >> 2)]++;
    const std::vector<unsigned> bins = from_device(d_bins, BINS * BINS);
    return verdict(bins == expected ? 0.0 : 1.0);
}

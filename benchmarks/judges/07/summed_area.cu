// The summed-area table of an n x n image of bytes: sums along the rows by a thread per row, whose
// neighbours are a row apart, and then along the columns by a thread per column.
//
//     nvcc -O2 -o summed_area summed_area.cu && ./summed_area 1000

#include "../host.h"

__global__ void sum_rows(const unsigned char *image, unsigned int *table, int width, int height) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y < height) {
        unsigned int sum = 0;
        for (int x = 0; x < width; x++) {
            sum += image[y * width + x];
            table[y * width + x] = sum;
        }
    }
}

__global__ void sum_columns(unsigned int *table, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x < width) {
        unsigned int sum = 0;
        for (int y = 0; y < height; y++) {
            sum += table[y * width + x];
            table[y * width + x] = sum;
        }
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64);
    const size_t count = (size_t)n * n;
    const std::vector<unsigned char> image = quick_bits<unsigned char>(count, 1);
    const unsigned char *d_image = to_device(image);
    unsigned int *d_table = device_zeros<unsigned int>(count);

    const int threads = 256;
    const int blocks = (n + threads - 1) / threads;
    sum_rows<<<blocks, threads>>>(d_image, d_table, n, n);
    sum_columns<<<blocks, threads>>>(d_table, n, n);
    finish_launches();

    std::vector<unsigned int> table(count);
    for (int y = 0; y < n; y++) {
        unsigned int sum = 0;
        for (int x = 0; x < n; x++) {
            const size_t at = (size_t)y * n + x;
            sum += image[at];
            table[at] = sum + (y > 0 ? table[at - n] : 0);
        }
    }
    return verdict(from_device(d_table, count) == table ? 0.0 : 1.0);
}

// Images: each byte of rows of n (and 2n/3 + 1 rows) is replaced by that of a table, in place.
//
//     nvcc -O2 -o gamma_table gamma_table.cu && ./gamma_table 2000

#include "checksum.h"

__global__ void apply_lut(unsigned char *img, const unsigned char *lut, int rows, int cols) {
    int idx = threadIdx.x + blockIdx.x * blockDim.x;
    if (idx >= rows * cols) return;
    img[idx] = lut[img[idx]];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 50, 30000);
    const int cols = n, rows = 2 * n / 3 + 1;
    const size_t count = (size_t)rows * cols;
    const std::vector<unsigned char> img = quick_bits<unsigned char>(count, 2121);
    std::vector<unsigned char> lut(256);
    for (int i = 0; i < 256; i++) lut[i] = (unsigned char)(255.0 * pow(i / 255.0, 1.0 / 2.2) + 0.5);
    unsigned char *d_img = to_device(img), *d_lut = to_device(lut);

    apply_lut<<<(rows * cols + 511) / 512, 512>>>(d_img, d_lut, rows, cols);
    finish_launches();

    const std::vector<unsigned char> changed = from_device(d_img, count);
    print_checksum("img", changed);
    return verdict(sampled_error(changed, [&](size_t e) { return lut[img[e]]; }));
}

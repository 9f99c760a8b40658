// EXPECT: tunable, the kernel itself is launched
// WHY: the table is a part of the image that maps to itself, and is stored to meanwhile
// SIZES: 100,1000,4001
#include "data.h"


__global__ void apply(unsigned char *image, const unsigned char *table, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    image[i] = table[image[i]];
}

int main(int argc, char **argv) {
    const int n = size_of(argc, argv) + 256;
    std::vector<unsigned char> host = drawn<unsigned char>(n, 256);
    for (int i = 0; i < 256; ++i) host[i] = (unsigned char)i;
    unsigned char *image = on_device(host);
    apply<<<(n + 127) / 128, 128>>>(image, image, n);
    printed("image", image, n);
}

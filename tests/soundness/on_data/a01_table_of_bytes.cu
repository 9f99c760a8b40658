// EXPECT: tunable
// WHY: control: a table by a byte, in place; n is no multiple of 16
// SIZES: 100,1000,4001
#include "data.h"


__global__ void apply(unsigned char *image, const unsigned char *table, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    image[i] = table[image[i]];
}

int main(int argc, char **argv) {
    const int n = size_of(argc, argv);
    unsigned char *image = on_device(drawn<unsigned char>(n, 256));
    const unsigned char *table = on_device(drawn<unsigned char>(256, 256, 9));
    apply<<<(n + 127) / 128, 128>>>(image, table, n);
    printed("image", image, n);
}

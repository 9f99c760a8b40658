// EXPECT: tunable, no copies
// WHY: bytes change places with their neighbours, by a table, in one warp
// SIZES: 100,1000,4001
#include "data.h"


__global__ void mixed(unsigned char *image, const unsigned char *table, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    image[i] = table[image[i ^ 1]];
}

int main(int argc, char **argv) {
    const int n = size_of(argc, argv) & ~31;
    unsigned char *image = on_device(drawn<unsigned char>(n, 256));
    mixed<<<n / 32, 32>>>(image, on_device(drawn<unsigned char>(256, 256, 9)), n);
    printed("image", image, n);
}

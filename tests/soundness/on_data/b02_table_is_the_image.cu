// EXPECT: tunable, the kernel itself is launched
// WHY: the launch gives one array as table and as image: warps exchange bytes through it
// SIZES: 32,96,256
#include "data.h"


__global__ void apply(unsigned char *image, const unsigned char *table, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    image[i] = table[image[i]];
}

int main(int argc, char **argv) {
    const int n = size_of(argc, argv) & ~31;
    std::vector<unsigned char> host(n);
    for (int i = 0; i < n; ++i) host[i] = (unsigned char)((i & ~31) + (i * 7 + 3) % 32);
    unsigned char *image = on_device(host);
    apply<<<(n + 31) / 32, 32>>>(image, image, n);
    printed("image", image, n);
}

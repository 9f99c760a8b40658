// EXPECT: tunable, no copies
// WHY: the table is changed by the threads that read it: each byte by the one that has its number
// SIZES: 100,1000,4001
#include "data.h"


__global__ void learn(unsigned char *image, unsigned char *table, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned char value = table[image[i]];
    if (i < 32) table[i] = (unsigned char)(value ^ 1);
    image[i] = value;
}

int main(int argc, char **argv) {
    const int n = size_of(argc, argv) & ~31;
    std::vector<unsigned char> host(n);
    for (int i = 0; i < n; ++i) host[i] = (unsigned char)(i < 32 ? 31 - i : 32 + i % 200);
    unsigned char *image = on_device(host), *table = on_device(drawn<unsigned char>(256, 256, 9));
    learn<<<n / 32, 32>>>(image, table, n);
    printed("image", image, n);
    printed("table", table, 256);
}

// EXPECT: tunable, the kernel itself is launched
// WHY: the array of places is the result: each thread reads its own, then replaces it
// SIZES: 100,1000,4001
#include "data.h"


__global__ void follow(const int *places, const int *table, int *to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    to[i] = table[places[i] & 63] + places[i];
}

int main(int argc, char **argv) {
    const int n = size_of(argc, argv);
    int *places = on_device(drawn<int>(n, 4096));
    follow<<<(n + 63) / 64, 64>>>(places, on_device(drawn<int>(64, 1000, 9)), places, n);
    printed("places", places, n);
}

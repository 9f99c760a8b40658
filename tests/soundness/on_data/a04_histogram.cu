// EXPECT: tunable
// WHY: control: sums of whole numbers may be made in any order
// SIZES: 100,1000,4001
#include "data.h"


__global__ void count(const unsigned char *values, unsigned *bins, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(&bins[values[i]], 1u);
}

int main(int argc, char **argv) {
    const int n = size_of(argc, argv);
    const unsigned char *values = on_device(drawn<unsigned char>(n, 256));
    unsigned *bins = on_device(std::vector<unsigned>(256));
    count<<<(n + 255) / 256, 256>>>(values, bins, n);
    printed("bins", bins, 256);
}

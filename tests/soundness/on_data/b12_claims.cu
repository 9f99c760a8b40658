// EXPECT: refused
// WHY: compare-and-swap: the first to come has a place, and says so
// SIZES: 100,1000,4001
#include "data.h"


__global__ void claim(const int *wanted, int *owners, int *got, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    got[i] = atomicCAS(&owners[wanted[i]], 0, i + 1) == 0;
}

int main(int argc, char **argv) {
    const int n = size_of(argc, argv) & ~31;
    std::vector<int> wanted(n);
    for (int i = 0; i < n; ++i) wanted[i] = i / 4;
    int *owners = on_device(std::vector<int>(n)), *got = on_device(std::vector<int>(n));
    claim<<<n / 32, 32>>>(on_device(wanted), owners, got, n);
    printed("owners", owners, n / 4);
    printed("got", got, n);
}

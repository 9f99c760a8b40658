// EXPECT: tunable, no copies
// WHY: a loop follows places in an array that other threads of the warp shorten meanwhile
// SIZES: 100,1000,4001
#include "data.h"


__global__ void compress(int *parent, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int at = i;
    while (parent[at] != at) at = parent[at];
    parent[i] = at;
}

int main(int argc, char **argv) {
    const int n = size_of(argc, argv);
    std::vector<int> parent = drawn<int>(n, 1 << 20);
    for (int i = 0; i < n; ++i) parent[i] = i ? parent[i] % i : 0;
    int *on = on_device(parent);
    compress<<<(n + 127) / 128, 128>>>(on, n);
    printed("parent", on, n);
}

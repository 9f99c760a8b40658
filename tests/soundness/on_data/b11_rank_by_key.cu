// EXPECT: refused
// WHY: the result of an atomic operation on a place that is data says which lane came first
// SIZES: 100,1000,4001
#include "data.h"


__global__ void ranked(const int *keys, int *counts, int *rank, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    rank[i] = atomicAdd(&counts[keys[i]], 1);
}

int main(int argc, char **argv) {
    const int n = size_of(argc, argv) & ~31;
    std::vector<int> keys(n);
    for (int i = 0; i < n; ++i) keys[i] = i / 32 * 8 + i % 8;
    int *counts = on_device(std::vector<int>(n)), *rank = on_device(std::vector<int>(n));
    ranked<<<n / 32, 32>>>(on_device(keys), counts, rank, n);
    printed("counts", counts, n / 4);
    printed("rank", rank, n);
}

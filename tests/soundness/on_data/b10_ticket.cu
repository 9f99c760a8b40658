// EXPECT: refused
// WHY: the result of an atomic operation is a place: who comes first differs
// SIZES: 100,1000,4001
#include "data.h"


__global__ void compact(const int *values, int *next, int *to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (values[i] % 3) return;
    to[atomicAdd(next, 1)] = values[i];
}

int main(int argc, char **argv) {
    const int n = size_of(argc, argv);
    int *next = on_device(std::vector<int>(1)), *to = on_device(std::vector<int>(n));
    compact<<<(n + 127) / 128, 128>>>(on_device(drawn<int>(n, 1000)), next, to, n);
    // In a warp lanes come in their order.
    printed("next", next, 1);
    printed("first", to, n < 32 ? n / 4 : 8);
}

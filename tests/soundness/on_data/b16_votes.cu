// EXPECT: tunable, no copies
// WHY: lanes ask how many of them have large data
// SIZES: 100,1000,4001
#include "data.h"


__global__ void vote(const int *values, unsigned *to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned active = __activemask();
    to[i] = __popc(__ballot_sync(active, values[i] > 500)) + (values[i] > 900 ? __activemask() & 1 : 0);
}

int main(int argc, char **argv) {
    const int n = size_of(argc, argv) & ~31;
    unsigned *to = on_device(std::vector<unsigned>(n));
    vote<<<n / 32, 32>>>(on_device(drawn<int>(n, 1000)), to, n);
    printed("to", to, n);
}

// EXPECT: tunable, restrict alone
// WHY: how often a loop turns is data: 1 to some hundred times
// SIZES: 100,1000,4001
#include "data.h"


__global__ void lengths(const int *from, int *steps, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int value = from[i] + 1, count = 0;
    while (value != 1) {
        value = value % 2 ? 3 * value + 1 : value / 2;
        ++count;
    }
    steps[i] = count;
}

int main(int argc, char **argv) {
    const int n = size_of(argc, argv);
    int *steps = on_device(std::vector<int>(n));
    lengths<<<(n + 127) / 128, 128>>>(on_device(drawn<int>(n, 5000)), steps, n);
    printed("steps", steps, n);
}

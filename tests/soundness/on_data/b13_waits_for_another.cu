// EXPECT: refused
// WHY: a thread waits until the one that an array names has stored: the second id of a thread may be that one
// SIZES: 64,128
#include "data.h"


__global__ void wait(const int *before, volatile int *done, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int tries = 0; tries < 2000; ++tries)
        if (before[i] < 0 || done[before[i]]) {
            done[i] = 1;
            return;
        }
}

int main(int argc, char **argv) {
    const int n = size_of(argc, argv) & ~31;
    std::vector<int> before(n);
    for (int i = 0; i < n; ++i) before[i] = i + 32 < n ? i + 32 : -1;
    int *done = on_device(std::vector<int>(n));
    wait<<<n / 32, 32>>>(on_device(before), done, n);
    printed("done", done, n);
}

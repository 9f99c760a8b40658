// EXPECT: tunable
// WHY: a return by data between two stores ends one id, not the ids behind it
// SIZES: 100,1000,4001
#include "data.h"


__global__ void twice(const unsigned char *flags, int *to, int *also, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    to[i] = flags[i];
    if (flags[i] % 3 == 0) return;
    also[flags[i] % 2 ? i : n + i] = 5;
    if (flags[i] % 5 == 0) return;
    to[i] = 7;
}

int main(int argc, char **argv) {
    const int n = size_of(argc, argv);
    int *to = on_device(std::vector<int>(n)), *also = on_device(std::vector<int>(2 * n));
    twice<<<(n + 127) / 128, 128>>>(on_device(drawn<unsigned char>(n, 256)), to, also, n);
    printed("to", to, n);
    printed("also", also, 2 * n);
}

// EXPECT: tunable, restrict alone
// WHY: how many ids there are is in memory
// SIZES: 100,1000,4001
#include "data.h"


__global__ void scaled(const int *count, const float *from, float *to) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= *count) return;
    to[i] = from[i] * 2;
}

int main(int argc, char **argv) {
    const int n = size_of(argc, argv);
    float *to = on_device(std::vector<float>(n));
    scaled<<<(n + 127) / 128, 128>>>(on_device(std::vector<int>(1, n / 2)), on_device(drawn<float>(n, 99)), to);
    printed("to", to, n);
}

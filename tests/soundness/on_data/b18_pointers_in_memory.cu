// EXPECT: tunable, no copies
// WHY: rows are found by pointers in memory, some of which lead to the result
// SIZES: 100,1000,4001
#include "data.h"


__global__ void rows(float *const *from, const int *at, float *to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    to[i] = from[i % 4][at[i]] + 1;
}

int main(int argc, char **argv) {
    const int n = size_of(argc, argv) & ~31;
    float *const a = on_device(drawn<float>(n, 100)), *const to = on_device(drawn<float>(n, 9));
    std::vector<int> at(n);
    for (int i = 0; i < n; ++i) at[i] = i % 4 == 3 ? i : (i * 7) % n;
    rows<<<n / 32, 32>>>(on_device(std::vector<float *>{a, a + 0, a, to}), on_device(at), to, n);
    printed("to", to, n);
}

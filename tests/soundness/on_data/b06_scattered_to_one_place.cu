// EXPECT: tunable, restrict alone
// WHY: two threads of a warp store to one place: the higher lane wins, and a thread of both ids stores in turn
// SIZES: 100,1000,4001
#include "data.h"


__global__ void scatter(const int *places, const int *values, int *to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    to[places[i]] = values[i];
}

int main(int argc, char **argv) {
    const int n = size_of(argc, argv) & ~31;
    std::vector<int> places(n);
    for (int i = 0; i < n; ++i) places[i] = i / 32 * 32 + i % 32 / 2 * 2;
    int *to = on_device(std::vector<int>(n));
    scatter<<<n / 32, 32>>>(on_device(places), on_device(drawn<int>(n, 1000)), to, n);
    // Which of two it is is not said: it is one of them.
    std::vector<int> found(n), values = drawn<int>(n, 1000);
    cudaMemcpy(found.data(), to, n * 4, cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int i = 0; i < n; i += 2) wrong += found[i] != values[i] && found[i] != values[i + 1];
    printf("wrong: %d\n", wrong);
}

// EXPECT: tunable, no copies
// WHY: in a warp all have loaded before one stores: pairs change places, by an array of places
// SIZES: 100,1000,4001
#include "data.h"


__global__ void exchange(float *a, const int *places, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    a[i] = a[places[i]];
}

int main(int argc, char **argv) {
    const int n = size_of(argc, argv) & ~31;
    std::vector<int> places(n);
    for (int i = 0; i < n; ++i) places[i] = i ^ 5;
    float *a = on_device(drawn<float>(n, 1000));
    exchange<<<(n + 127) / 128, 128>>>(a, on_device(places), n);
    printed("a", a, n);
}

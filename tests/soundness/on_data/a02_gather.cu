// EXPECT: tunable
// WHY: control: elements at places that an array gives
// SIZES: 100,1000,4001
#include "data.h"


__global__ void take(const float *column, const int *places, const float *weight, float *to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    to[i] = weight[i] * column[places[i]];
}

int main(int argc, char **argv) {
    const int n = size_of(argc, argv);
    const float *column = on_device(drawn<float>(n / 2 + 1, 1000)), *weight = on_device(drawn<float>(n, 50, 3));
    const int *places = on_device(drawn<int>(n, n / 2 + 1, 5));
    float *to = on_device(std::vector<float>(n));
    take<<<(n + 255) / 256, 256>>>(column, places, weight, to, n);
    printed("to", to, n);
}

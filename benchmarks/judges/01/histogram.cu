// Counts of 256 values by atomic additions in global memory.
//
//     nvcc -O2 -o histogram histogram.cu && ./histogram 100000

#include "../judge.h"

#define BINS 256

__global__ void histogram(int n, const unsigned char *values, unsigned *counts) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&counts[values[i]], 1u);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 10000, 1 << 28);
    const std::vector<int> numbers = fixed_integers(n, BINS, 1);
    const std::vector<unsigned char> values(numbers.begin(), numbers.end());
    unsigned char *device_values = to_device(values);
    unsigned *device_counts = to_device(std::vector<unsigned>(BINS));

    const unsigned block = 256;
    histogram<<<blocks_for(n, block), block>>>(n, device_values, device_counts);
    finish_launches();

    std::vector<unsigned> expected(BINS);
    for (const unsigned char value : values) expected[value]++;
    return verdict(
        sampled_error(from_device(device_counts, BINS), [&](size_t e) { return expected[e]; }));
}

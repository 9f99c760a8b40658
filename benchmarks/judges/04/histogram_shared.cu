// How often each byte occurs among 4 n bytes. Each block counts in shared memory, going through the
// data in strides of the grid, and adds its counts to the result at the end.
//
//     nvcc -O2 -o histogram_shared histogram_shared.cu && ./histogram_shared 1000000

#include "../judge.h"

#define BINS 256

#pragma cutune kernel histogram_shared data(words) block(x: 32..1024) grid(keep)
__global__ void histogram_shared(int words, const unsigned *data, unsigned *histogram) {
    __shared__ unsigned counts[BINS];
    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) counts[bin] = 0;
    __syncthreads();
    const int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += stride) {
        const unsigned word = data[i];
        atomicAdd(&counts[word & 255], 1u);
        atomicAdd(&counts[word >> 8 & 255], 1u);
        atomicAdd(&counts[word >> 16 & 255], 1u);
        atomicAdd(&counts[word >> 24], 1u);
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x)
        atomicAdd(&histogram[bin], counts[bin]);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 10000, 1 << 28);
    std::vector<unsigned> data(n);
    std::mt19937 generator(1);
    // Of two draws the common bits: small bytes are more frequent.
    for (unsigned &word : data) word = (unsigned)generator() & (unsigned)generator();
    const unsigned *device_data = to_device(data);
    unsigned *device_histogram = to_device(std::vector<unsigned>(BINS));

    const unsigned block = 256, most_blocks = 1056;
    const unsigned needed = blocks_for(n, block);
    const unsigned blocks = needed < most_blocks ? needed : most_blocks;
    histogram_shared<<<blocks, block>>>(n, device_data, device_histogram);
    finish_launches();

    std::vector<unsigned> expected(BINS);
    for (const unsigned word : data)
        for (int shift = 0; shift < 32; shift += 8) expected[word >> shift & 255]++;
    return verdict(sampled_error(from_device(device_histogram, BINS),
                                 [&](size_t bin) { return expected[bin]; }));
}

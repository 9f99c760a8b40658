// Histogram of n bytes, each block's in shared memory first; then a checksum of the same bytes as
// words, one shared counter per block.
//
//     nvcc -O2 -o byte_histogram byte_histogram.cu && ./byte_histogram 64000000

#include <algorithm>

#include "checksum.h"

#define BINS 256

__global__ void histogram(const unsigned char *__restrict__ bytes, unsigned *__restrict__ counts,
                          int n) {
    __shared__ unsigned bins[BINS];
    for (int b = threadIdx.x; b < BINS; b += blockDim.x) bins[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        atomicAdd(&bins[bytes[i]], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        if (bins[b] != 0) atomicAdd(&counts[b], bins[b]);
}

__global__ void word_checksum(const unsigned *__restrict__ words, unsigned *__restrict__ checksum,
                              int words_count) {
    __shared__ unsigned total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    unsigned sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < words_count;
         i += blockDim.x * gridDim.x)
        sum += mixed(words[i] ^ (unsigned)i);
    atomicAdd(&total, sum);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(checksum, total);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 10000, 2000000000);
    const int words_count = n / 4;
    std::vector<unsigned char> bytes = quick_bits<unsigned char>(n, 1811);
    // Small values are more frequent.
    for (size_t i = 0; i < bytes.size(); i += 2) bytes[i] &= bytes[i] >> 3;
    const unsigned char *d_bytes = to_device(bytes);
    unsigned *d_counts = device_zeros<unsigned>(BINS), *d_checksum = device_zeros<unsigned>(1);

    histogram<<<std::min((n + 255) / 256, 1056), 256>>>(d_bytes, d_counts, n);
    word_checksum<<<std::min((words_count + 127) / 128 + 1, 2112), 128>>>(
        (const unsigned *)d_bytes, d_checksum, words_count);
    finish_launches();

    const std::vector<unsigned> counts = from_device(d_counts, BINS);
    const unsigned checksum = from_device(d_checksum, 1)[0];
    std::vector<unsigned> wanted(BINS);
    for (unsigned char byte : bytes) wanted[byte]++;
    unsigned wanted_checksum = 0;
    for (int i = 0; i < words_count; i++) {
        unsigned word;
        memcpy(&word, bytes.data() + (size_t)i * 4, 4);
        wanted_checksum += mixed(word ^ (unsigned)i);
    }
    unsigned long long both = checksum;
    for (int b = 0; b < BINS; b++) both += (unsigned long long)counts[b] * mixed(b);
    return report_exact(both, counts == wanted && checksum == wanted_checksum);
}

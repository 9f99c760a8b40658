// How often each byte occurs: blocks count in bins of their own in shared memory, several copies of
// them so that fewer threads meet at one, and add them to the result.
//
//     nvcc -O2 -o histogram_private histogram_private.cu && ./histogram_private 1000000

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define BINS 256

#define CHECK(call)                                                                              \
    do {                                                                                         \
        cudaError_t error = (call);                                                              \
        if (error != cudaSuccess) {                                                              \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error));       \
            exit(1);                                                                             \
        }                                                                                        \
    } while (0)

template <int THREADS, int PER_THREAD, int COPIES>
__global__ void histogram(const uint8_t *data, size_t n, unsigned *counts) {
    __shared__ unsigned bins[COPIES][BINS];
    for (int i = threadIdx.x; i < COPIES * BINS; i += THREADS) bins[i / BINS][i % BINS] = 0;
    __syncthreads();

    const size_t first = (size_t)blockIdx.x * THREADS * PER_THREAD + threadIdx.x;
    const int copy = threadIdx.x % COPIES;
#pragma unroll 4
    for (int j = 0; j < PER_THREAD; j++) {
        const size_t at = first + (size_t)j * THREADS;
        if (at < n) atomicAdd(&bins[copy][data[at]], 1u);
    }
    __syncthreads();

    for (int bin = threadIdx.x; bin < BINS; bin += THREADS) {
        unsigned sum = 0;
        for (int c = 0; c < COPIES; c++) sum += bins[c][bin];
        if (sum > 0) atomicAdd(&counts[bin], sum);
    }
}

template <int THREADS, int PER_THREAD, int COPIES>
static void count_bytes(const uint8_t *data, size_t n, unsigned *counts) {
    static_assert(THREADS >= COPIES, "each copy needs a thread");
    const size_t part = (size_t)THREADS * PER_THREAD;
    const unsigned blocks = (unsigned)((n + part - 1) / part);
    CHECK(cudaMemset(counts, 0, BINS * sizeof(unsigned)));
    histogram<THREADS, PER_THREAD, COPIES><<<blocks, THREADS>>>(data, n, counts);
    CHECK(cudaGetLastError());
}

int main(int argc, char **argv) {
    const size_t n = argc > 1 ? strtoull(argv[1], nullptr, 10) : 1000000;

    // Small bytes are more frequent, as in images that are dark.
    std::vector<uint8_t> data(n);
    uint32_t state = 2463534242u;
    for (uint8_t &byte : data) {
        state ^= state << 13, state ^= state >> 17, state ^= state << 5;
        byte = (uint8_t)std::min(state & 255, state >> 8 & 255);
    }
    uint8_t *d_data;
    unsigned *d_counts;
    CHECK(cudaMalloc(&d_data, n));
    CHECK(cudaMalloc(&d_counts, BINS * sizeof(unsigned)));
    CHECK(cudaMemcpy(d_data, data.data(), n, cudaMemcpyHostToDevice));

    count_bytes<256, 32, 1>(d_data, n, d_counts);

    unsigned counts[BINS];
    CHECK(cudaMemcpy(counts, d_counts, sizeof(counts), cudaMemcpyDeviceToHost));

    bool right = true;
    if (n <= 1 << 22) {
        std::vector<unsigned> expected(BINS);
        for (uint8_t byte : data) expected[byte]++;
        right = std::equal(expected.begin(), expected.end(), counts);
    }
    unsigned long long total = 0, weighted = 0;
    for (int bin = 0; bin < BINS; bin++) {
        total += counts[bin];
        weighted += (unsigned long long)counts[bin] * bin * bin;
    }
    printf("%llu bytes, %llu\n", total, weighted);
    right = right && total == n;
    printf("%s\n", right ? "PASS" : "FAIL");
    CHECK(cudaFree(d_data));
    CHECK(cudaFree(d_counts));
    return right ? 0 : 1;
}

// Inclusive prefix sums of n numbers in chunks of 4096, one per block: sums of chunks, their scan
// by one block, and the scan of each chunk.
//
//     nvcc -O2 -o prefix_sum prefix_sum.cu && ./prefix_sum 1000000

#include "../judge.h"

#define CHUNK 4096

// The sum of `value` over the threads of the block up to this one. `total` is that over all.
__device__ unsigned scan_block(unsigned value, unsigned *total) {
    __shared__ unsigned scanned[2][1024];
    const int t = threadIdx.x;
    int now = 0;
    scanned[0][t] = value;
    __syncthreads();
    for (int reach = 1; reach < (int)blockDim.x; reach *= 2) {
        scanned[1 - now][t] = scanned[now][t] + (t >= reach ? scanned[now][t - reach] : 0);
        now = 1 - now;
        __syncthreads();
    }
    const unsigned sum = scanned[now][t];
    *total = scanned[now][blockDim.x - 1];
    __syncthreads();
    return sum;
}

#pragma cutune kernel sum_chunks data(n) block(x: 32, 64, 128, 256, 512, 1024) grid(keep)
__global__ void sum_chunks(int n, const unsigned *values, unsigned *sums) {
    __shared__ unsigned partial[1024];
    const int start = blockIdx.x * CHUNK, end = min(start + CHUNK, n);
    unsigned sum = 0;
    for (int i = start + threadIdx.x; i < end; i += blockDim.x) sum += values[i];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}

#pragma cutune kernel scan_sums data(chunks) block(x: 32..1024) grid(keep)
__global__ void scan_sums(int chunks, unsigned *sums) {
    unsigned before = 0, total;
    for (int start = 0; start < chunks; start += blockDim.x) {
        const int i = start + threadIdx.x;
        const unsigned own = i < chunks ? sums[i] : 0;
        const unsigned sum = scan_block(own, &total);
        if (i < chunks) sums[i] = before + sum - own;
        before += total;
    }
}

#pragma cutune kernel scan_chunks data(n) block(x: 32..1024) grid(keep)
__global__ void scan_chunks(int n, const unsigned *values, const unsigned *sums, unsigned *scan) {
    unsigned before = sums[blockIdx.x], total;
    const int first = blockIdx.x * CHUNK, end = min(first + CHUNK, n);
    for (int start = first; start < end; start += blockDim.x) {
        const int i = start + threadIdx.x;
        const unsigned sum = scan_block(i < end ? values[i] : 0, &total);
        if (i < end) scan[i] = before + sum;
        before += total;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 10000, 1 << 28);
    const std::vector<int> numbers = fixed_integers(n, 16, 1);
    const std::vector<unsigned> values(numbers.begin(), numbers.end());
    const int chunks = (n + CHUNK - 1) / CHUNK;
    unsigned *device_values = to_device(values), *device_scan = to_device(values);
    unsigned *device_sums = to_device(std::vector<unsigned>(chunks));

    sum_chunks<<<chunks, 256>>>(n, device_values, device_sums);
    scan_sums<<<1, 512>>>(chunks, device_sums);
    scan_chunks<<<chunks, 256>>>(n, device_values, device_sums, device_scan);
    finish_launches();

    std::vector<unsigned> expected = values;
    for (int i = 1; i < n; i++) expected[i] += expected[i - 1];
    return verdict(
        sampled_error(from_device(device_scan, n), [&](size_t i) { return expected[i]; }));
}

// How often each of 64 values occurs among n: counted in shared memory by parts of 2048, then added
// to the totals by atomic operations.
//
//     nvcc -O2 -o histogram_parts histogram_parts.cu && ./histogram_parts 10000000

#include "../host.h"

#define THREADS 256
#define PER_THREAD 8
#define BINS 64

__global__ void counted(const unsigned *values, unsigned *totals, int n) {
    __shared__ unsigned bins[BINS];
    if (threadIdx.x < BINS) bins[threadIdx.x] = 0;
    __syncthreads();
    const int first = blockIdx.x * (THREADS * PER_THREAD) + threadIdx.x;
    for (int j = 0; j < PER_THREAD; j++) {
        const int i = first + j * THREADS;
        if (i < n) atomicAdd(&bins[values[i] % BINS], 1u);
    }
    __syncthreads();
    if (threadIdx.x < BINS) atomicAdd(&totals[threadIdx.x], bins[threadIdx.x]);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 20000, 200000000);
    const std::vector<unsigned> values = quick_bits<unsigned>(n, 1918);
    const unsigned *d_values = to_device(values);
    unsigned *d_totals = device_zeros<unsigned>(BINS);

    const int part = THREADS * PER_THREAD;
    counted<<<(n + part - 1) / part, THREADS>>>(d_values, d_totals, n);
    finish_launches();

    std::vector<unsigned> wanted(BINS);
    for (unsigned value : values) wanted[value % BINS]++;
    const std::vector<unsigned> found = from_device(d_totals, BINS);
    return verdict(found == wanted ? 0.0 : 1.0);
}

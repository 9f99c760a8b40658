// Stream compaction of n numbers in chunks of 2048, one per block: each thread counts what it keeps
// of a piece of the chunk, a scan of the counts gives its place, and it writes there.
//
//     nvcc -O2 -o compact_chunks compact_chunks.cu && ./compact_chunks 1000000

#include "../judge.h"

#define CHUNK 2048
#define LIMIT 40

#pragma cutune kernel compact_chunks data(n) block(x: 32, 64, 128, 256, 512, 1024) grid(keep)
__global__ void compact_chunks(int n, const int *values, int *kept, int *counts) {
    __shared__ int places[1024];
    const int t = threadIdx.x, piece = CHUNK / blockDim.x;
    const int start = blockIdx.x * CHUNK, first = min(start + t * piece, n);
    const int end = min(first + piece, n);
    int own = 0;
    for (int i = first; i < end; i++)
        if (values[i] < LIMIT) own++;
    places[t] = own;
    __syncthreads();
    for (int reach = 1; reach < (int)blockDim.x; reach *= 2) {
        const int before = t >= reach ? places[t - reach] : 0;
        __syncthreads();
        places[t] += before;
        __syncthreads();
    }
    int place = start + places[t] - own;
    for (int i = first; i < end; i++)
        if (values[i] < LIMIT) kept[place++] = values[i];
    if (t == (int)blockDim.x - 1) counts[blockIdx.x] = places[t];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 10000, 1 << 28);
    const std::vector<int> values = fixed_integers(n, 100, 1);
    const int chunks = (n + CHUNK - 1) / CHUNK;
    const int *device_values = to_device(values);
    int *device_kept = to_device(std::vector<int>(n, -1));
    int *device_counts = to_device(std::vector<int>(chunks));

    compact_chunks<<<chunks, 128>>>(n, device_values, device_kept, device_counts);
    finish_launches();

    std::vector<int> expected(n, -1), expected_counts(chunks);
    for (int i = 0; i < n; i++)
        if (values[i] < LIMIT)
            expected[(size_t)(i / CHUNK) * CHUNK + expected_counts[i / CHUNK]++] = values[i];
    const double counts = sampled_error(from_device(device_counts, chunks),
                                        [&](size_t chunk) { return expected_counts[chunk]; });
    return verdict(counts + sampled_error(from_device(device_kept, n),
                                          [&](size_t i) { return expected[i]; }));
}

// Image search: for each of n descriptors of 256 bits the nearest one of 2048, by how many bits
// differ; of those that are equally near, the first. A block per descriptor, a minimum in shared
// memory.
//
//     nvcc -O2 -o hamming_nearest hamming_nearest.cu && ./hamming_nearest 500

#include "../host.h"

#define CODES 2048
#define WORDS 8

__global__ void nearest_codes(const unsigned *__restrict__ queries,
                              const unsigned *__restrict__ codes, int *__restrict__ nearest,
                              int *__restrict__ distances) {
    __shared__ unsigned best;
    if (threadIdx.x == 0) best = 0xffffffffu;
    unsigned query[WORDS];
    for (int word = 0; word < WORDS; word++)
        query[word] = queries[(size_t)blockIdx.x * WORDS + word];
    __syncthreads();
    unsigned own = 0xffffffffu;
    // Words of a code lie 2048 apart.
    for (unsigned code = threadIdx.x; code < CODES; code += blockDim.x) {
        unsigned distance = 0;
        for (int word = 0; word < WORDS; word++)
            distance += __popc(query[word] ^ codes[word * CODES + code]);
        own = min(own, distance << 16 | code);
    }
    atomicMin(&best, own);
    __syncthreads();
    if (threadIdx.x == 0) {
        nearest[blockIdx.x] = best & 0xffff;
        distances[blockIdx.x] = best >> 16;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 6, 5000000);
    const std::vector<unsigned> queries = quick_bits<unsigned>((size_t)n * WORDS, 2141);
    const std::vector<unsigned> codes = quick_bits<unsigned>(CODES * WORDS, 2142);
    const unsigned *d_queries = to_device(queries), *d_codes = to_device(codes);
    int *d_nearest = device_zeros<int>(n), *d_distances = device_zeros<int>(n);

    dim3 threads(256);
    nearest_codes<<<n, threads>>>(d_queries, d_codes, d_nearest, d_distances);
    finish_launches();

    const std::vector<int> nearest = from_device(d_nearest, n);
    const std::vector<int> distances = from_device(d_distances, n);
    int wrong = 0;
    for (int i = 0; i < n; i += n / 200 + 1) {
        int first = 0, least = 1000;
        for (int code = 0; code < CODES; code++) {
            int distance = 0;
            for (int word = 0; word < WORDS; word++)
                distance += __builtin_popcount(queries[(size_t)i * WORDS + word] ^
                                               codes[word * CODES + code]);
            if (distance < least) {
                least = distance;
                first = code;
            }
        }
        wrong += nearest[i] != first || distances[i] != least;
    }
    return verdict(wrong);
}

// A Bloom filter of n keys of 64 bits: a kernel sets six bits for each by atomics. Another looks up
// n keys, a third of which were put in, and stops at the first bit that is not set.
//
//     nvcc -O2 -o bloom_filter bloom_filter.cu && ./bloom_filter 1000000

#include "../host.h"

#define HASHES 6

__host__ __device__ inline unsigned long long scramble(unsigned long long key) {
    key ^= key >> 33;
    key *= 0xff51afd7ed558ccdull;
    key ^= key >> 33;
    key *= 0xc4ceb9fe1a85ec53ull;
    return key ^ (key >> 33);
}

// The h-th bit of a key whose scrambled form is given: two halves make all of its hashes.
__host__ __device__ inline unsigned int bit_of(unsigned long long scrambled, int h,
                                               unsigned int mask) {
    const unsigned int step = (unsigned int)(scrambled >> 32) | 1u;
    return ((unsigned int)scrambled + h * step) & mask;
}

__global__ void insert(const unsigned long long *keys, int n, unsigned int *filter,
                       unsigned int mask) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long scrambled = scramble(keys[i]);
    for (int h = 0; h < HASHES; h++) {
        unsigned int bit = bit_of(scrambled, h, mask);
        atomicOr(&filter[bit / 32], 1u << (bit % 32));
    }
}

__global__ void look_up(const unsigned long long *keys, int n, const unsigned int *filter,
                        unsigned int mask, unsigned char *found) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long scrambled = scramble(keys[i]);
    bool all_set = true;
    for (int h = 0; h < HASHES && all_set; h++) {
        unsigned int bit = bit_of(scrambled, h, mask);
        all_set = filter[bit / 32] >> (bit % 32) & 1u;
    }
    found[i] = all_set;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 5000, 1 << 27);
    std::vector<unsigned long long> keys(n), queries(n);
    for (int i = 0; i < n; i++) {
        keys[i] = 1000003ull * (unsigned)i;
        queries[i] = mixed((uint32_t)i) % 3 == 0 ? keys[i] : keys[i] + 1;
    }
    unsigned int bits = 1024;
    while (bits < 8u * n) bits *= 2;
    const unsigned long long *d_keys = to_device(keys), *d_queries = to_device(queries);
    unsigned int *d_filter = device_zeros<unsigned int>(bits / 32);
    unsigned char *d_found = device_zeros<unsigned char>(n);

    const int threads = 256, blocks = (n + threads - 1) / threads;
    insert<<<blocks, threads>>>(d_keys, n, d_filter, bits - 1);
    look_up<<<blocks, threads>>>(d_queries, n, d_filter, bits - 1, d_found);
    finish_launches();

    std::vector<unsigned int> filter(bits / 32);
    for (unsigned long long key : keys)
        for (int h = 0; h < HASHES; h++) {
            const unsigned int bit = bit_of(scramble(key), h, bits - 1);
            filter[bit / 32] |= 1u << (bit % 32);
        }
    const double error = from_device(d_filter, filter.size()) == filter ? 0.0 : 1.0;
    return verdict(error + sampled_error(from_device(d_found, n), [&](size_t i) {
        for (int h = 0; h < HASHES; h++) {
            const unsigned int bit = bit_of(scramble(queries[i]), h, bits - 1);
            if (!(filter[bit / 32] >> (bit % 32) & 1u)) return 0;
        }
        return 1;
    }));
}

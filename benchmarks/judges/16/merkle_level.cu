// Cryptography: one level of a hash tree, n pairs of SHA-256 digests to n digests. Each pair is a
// message of 64 bytes, so that its end fills a second block.
//
//     nvcc -O2 -o merkle_level merkle_level.cu && ./merkle_level 50000

#include "../host.h"

__constant__ uint32_t round_words[64];

__host__ __device__ inline uint32_t turned(uint32_t x, int by) { return x >> by | x << (32 - by); }

__host__ __device__ inline void compress(uint32_t state[8], uint32_t w[16], const uint32_t *k) {
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int start = 0; start < 64; start += 16) {
#pragma unroll
        for (int t = 0; t < 16; t++) {
            if (start > 0) {
                const uint32_t early = w[(t + 1) & 15], late = w[(t + 14) & 15];
                w[t] += (turned(early, 7) ^ turned(early, 18) ^ early >> 3) + w[(t + 9) & 15] +
                        (turned(late, 17) ^ turned(late, 19) ^ late >> 10);
            }
            const uint32_t one = h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) +
                                 ((e & f) ^ (~e & g)) + k[start + t] + w[t];
            const uint32_t two =
                (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
            h = g;
            g = f;
            f = e;
            e = d + one;
            d = c;
            c = b;
            b = a;
            a = one + two;
        }
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
}

__host__ __device__ inline void hash_pair(uint32_t w[16], uint32_t state[8], const uint32_t *k) {
    const uint32_t start[8] = {0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au,
                               0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u};
#pragma unroll
    for (int j = 0; j < 8; j++) state[j] = start[j];
    compress(state, w, k);
#pragma unroll
    for (int j = 0; j < 16; j++) w[j] = 0u;
    w[0] = 0x80000000u;
    w[15] = 512u;
    compress(state, w, k);
}

__global__ void hash_pairs(const uint4 *__restrict__ children, uint4 *__restrict__ parents,
                           int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32_t w[16], state[8];
#pragma unroll
    for (int j = 0; j < 4; j++) {
        const uint4 four = children[4 * (size_t)i + j];
        w[4 * j] = four.x;
        w[4 * j + 1] = four.y;
        w[4 * j + 2] = four.z;
        w[4 * j + 3] = four.w;
    }
    hash_pair(w, state, round_words);
    parents[2 * (size_t)i] = make_uint4(state[0], state[1], state[2], state[3]);
    parents[2 * (size_t)i + 1] = make_uint4(state[4], state[5], state[6], state[7]);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 200, 200000000);
    // The round constants are the first 32 bits behind the point of the cube roots of primes.
    std::vector<uint32_t> constants;
    for (int candidate = 2; constants.size() < 64; candidate++) {
        bool prime = true;
        for (int d = 2; d * d <= candidate; d++) prime = prime && candidate % d != 0;
        const double root = cbrt((double)candidate);
        if (prime) constants.push_back((uint32_t)((root - floor(root)) * 4294967296.0));
    }
    CHECK(cudaMemcpyToSymbol(round_words, constants.data(), 64 * sizeof(uint32_t)));
    const std::vector<uint32_t> children = quick_bits<uint32_t>(16 * (size_t)n, 1609);
    const uint32_t *d_children = to_device(children);
    uint32_t *d_parents = device_zeros<uint32_t>(8 * (size_t)n);

    const int threads = 128;
    const int blocks = (n + threads - 1) / threads;
    hash_pairs<<<blocks, threads>>>((const uint4 *)d_children, (uint4 *)d_parents, n);
    finish_launches();

    const std::vector<uint32_t> parents = from_device(d_parents, 8 * (size_t)n);
    return verdict(sampled_error(parents, [&](size_t e) {
        uint32_t w[16], state[8];
        memcpy(w, children.data() + e / 8 * 16, sizeof(w));
        hash_pair(w, state, constants.data());
        return state[e % 8];
    }));
}

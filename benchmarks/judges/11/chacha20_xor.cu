// The cipher ChaCha20 over n blocks of 64 bytes, a block per thread: twenty rounds of additions,
// exclusive ors and rotations of sixteen words, then the text in vector loads and stores.
//
//     nvcc -O2 -o chacha20_xor chacha20_xor.cu && ./chacha20_xor 100000

#include "../host.h"

struct Key {
    uint32_t words[8], nonce[3];
};

__host__ __device__ inline uint32_t rotated(uint32_t word, int by) {
    return word << by | word >> (32 - by);
}

__host__ __device__ inline void quarter(uint32_t &a, uint32_t &b, uint32_t &c, uint32_t &d) {
    a += b;
    d = rotated(d ^ a, 16);
    c += d;
    b = rotated(b ^ c, 12);
    a += b;
    d = rotated(d ^ a, 8);
    c += d;
    b = rotated(b ^ c, 7);
}

// The sixteen words for a block.
__host__ __device__ inline void key_stream(const Key &key, uint32_t number, uint32_t *x) {
    const uint32_t start[16] = {
        0x61707865u,  0x3320646eu,  0x79622d32u,  0x6b206574u,  key.words[0], key.words[1],
        key.words[2], key.words[3], key.words[4], key.words[5], key.words[6], key.words[7],
        number,       key.nonce[0], key.nonce[1], key.nonce[2]};
#pragma unroll
    for (int w = 0; w < 16; w++) x[w] = start[w];
    for (int round = 0; round < 10; round++) {
        quarter(x[0], x[4], x[8], x[12]);
        quarter(x[1], x[5], x[9], x[13]);
        quarter(x[2], x[6], x[10], x[14]);
        quarter(x[3], x[7], x[11], x[15]);
        quarter(x[0], x[5], x[10], x[15]);
        quarter(x[1], x[6], x[11], x[12]);
        quarter(x[2], x[7], x[8], x[13]);
        quarter(x[3], x[4], x[9], x[14]);
    }
#pragma unroll
    for (int w = 0; w < 16; w++) x[w] += start[w];
}

__global__ void chacha20_xor(int blocks, Key key, const uint4 *__restrict__ text,
                             uint4 *__restrict__ out) {
    const int number = blockIdx.x * blockDim.x + threadIdx.x;
    if (number >= blocks) return;
    uint32_t x[16];
    key_stream(key, (uint32_t)number, x);
#pragma unroll
    for (int q = 0; q < 4; q++) {
        uint4 part = text[(size_t)number * 4 + q];
        part.x ^= x[4 * q];
        part.y ^= x[4 * q + 1];
        part.z ^= x[4 * q + 2];
        part.w ^= x[4 * q + 3];
        out[(size_t)number * 4 + q] = part;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1 << 25);
    const size_t count = (size_t)n * 16;
    const std::vector<uint32_t> text = quick_bits<uint32_t>(count, 1);
    Key key;
    for (int w = 0; w < 8; w++) key.words[w] = mixed(w + 100);
    for (int w = 0; w < 3; w++) key.nonce[w] = mixed(w + 200);
    const uint32_t *d_text = to_device(text);
    uint32_t *d_out = device_zeros<uint32_t>(count);

    const int threads = 256;
    chacha20_xor<<<(n + threads - 1) / threads, threads>>>(n, key, (const uint4 *)d_text,
                                                           (uint4 *)d_out);
    finish_launches();

    return verdict(sampled_error(from_device(d_out, count), [&](size_t e) {
        uint32_t x[16];
        key_stream(key, (uint32_t)(e / 16), x);
        return text[e] ^ x[e % 16];
    }));
}

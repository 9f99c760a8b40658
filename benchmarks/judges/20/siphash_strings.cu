// Hash tables: SipHash-2-4 of n strings of one to eight words of 64 bits, one string per thread;
// its hash, and the bucket that it goes to.
//
//     nvcc -O2 -o siphash_strings siphash_strings.cu && ./siphash_strings 200000

#include "../host.h"

typedef unsigned long long Word;

__host__ __device__ inline Word turned(Word word, int bits) {
    return word << bits | word >> (64 - bits);
}

__host__ __device__ inline void sip_round(Word &a, Word &b, Word &c, Word &d) {
    a += b;
    c += d;
    b = turned(b, 13) ^ a;
    d = turned(d, 16) ^ c;
    a = turned(a, 32);
    c += b;
    a += d;
    b = turned(b, 17) ^ c;
    d = turned(d, 21) ^ a;
    c = turned(c, 32);
}

__host__ __device__ inline Word siphash(const Word *words, int length, Word key, Word other_key) {
    Word a = key ^ 0x736f6d6570736575ull, b = other_key ^ 0x646f72616e646f6dull;
    Word c = key ^ 0x6c7967656e657261ull, d = other_key ^ 0x7465646279746573ull;
    for (int i = 0; i <= length; i++) {
        const Word word = i < length ? words[i] : (Word)(8 * length) << 56;
        d ^= word;
        sip_round(a, b, c, d);
        sip_round(a, b, c, d);
        a ^= word;
    }
    c ^= 0xff;
    for (int i = 0; i < 4; i++) sip_round(a, b, c, d);
    return a ^ b ^ c ^ d;
}

__global__ void hash_strings(const Word *words, const int *starts, Word *hashes, int *buckets,
                             Word key, Word other_key, int table, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        Word hash = siphash(words + starts[i], starts[i + 1] - starts[i], key, other_key);
        hashes[i] = hash;
        buckets[i] = (int)(hash % (Word)table);
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 300, 100000000);
    std::vector<int> starts((size_t)n + 1);
    for (int i = 0; i < n; i++) starts[i + 1] = starts[i] + 1 + (int)(mixed(i + 2101u) % 8u);
    const std::vector<Word> words = quick_bits<Word>(starts[n], 2102);
    const Word key = 0x0706050403020100ull, other_key = 0x0f0e0d0c0b0a0908ull;
    const int table = 2 * n + 1;
    const Word *d_words = to_device(words);
    const int *d_starts = to_device(starts);
    Word *d_hashes = device_zeros<Word>(n);
    int *d_buckets = device_zeros<int>(n);

    hash_strings<<<(n + 255) / 256, 256>>>(d_words, d_starts, d_hashes, d_buckets, key, other_key,
                                           table, n);
    finish_launches();

    const std::vector<Word> hashes = from_device(d_hashes, n);
    const std::vector<int> buckets = from_device(d_buckets, n);
    int wrong = 0;
    for (int i = 0; i < n; i += n / 1000 + 1) {
        const Word hash =
            siphash(words.data() + starts[i], starts[i + 1] - starts[i], key, other_key);
        wrong += hashes[i] != hash || buckets[i] != (int)(hash % (Word)table);
    }
    return verdict(wrong);
}

// How often each word of eleven bases occurs in a genome of n letters, a word and its reverse
// complement being the same: a thread per place, an atomic addition to one of 4^11 counters. Words
// with an unknown base do not count.
//
//     nvcc -O2 -o kmer_count kmer_count.cu && ./kmer_count 1000000

#include "../host.h"

#define K 11
#define WORDS (1 << 2 * K)

// The number of a base, or -1.
__host__ __device__ inline int base_number(char letter) {
    return letter == 'A' ? 0 : letter == 'C' ? 1 : letter == 'G' ? 2 : letter == 'T' ? 3 : -1;
}

__global__ void kmer_count(const char *__restrict__ genome, int places, unsigned *counts) {
    const int place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place < places) {
        unsigned word = 0, complement = 0;
        bool known = true;
        for (int k = 0; k < K; k++) {
            const int base = base_number(genome[place + k]);
            known = known && base >= 0;
            word = word << 2 | (unsigned)(base & 3);
            complement = complement >> 2 | (unsigned)(3 - (base & 3)) << 2 * (K - 1);
        }
        if (known) atomicAdd(&counts[min(word, complement)], 1u);
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1 << 28);
    std::vector<char> genome = quick_bits<char>(n + K - 1, 1);
    for (char &letter : genome) {
        const unsigned bits = (unsigned char)letter;
        letter = bits == 0 ? 'N' : "ACGT"[bits % 4];
    }
    const char *d_genome = to_device(genome);
    unsigned *d_counts = device_zeros<unsigned>(WORDS);

    const int threads = 256;
    kmer_count<<<(n + threads - 1) / threads, threads>>>(d_genome, n, d_counts);
    finish_launches();

    // All words, rolled along the genome.
    std::vector<unsigned> counts(WORDS, 0);
    unsigned word = 0, complement = 0;
    int length = 0;
    for (const char letter : genome) {
        const int base = base_number(letter);
        length = base < 0 ? 0 : length + 1;
        word = (word << 2 | (unsigned)(base & 3)) & (WORDS - 1);
        complement = complement >> 2 | (unsigned)(3 - (base & 3)) << 2 * (K - 1);
        if (length >= K) counts[std::min(word, complement)]++;
    }
    const std::vector<unsigned> found = from_device(d_counts, WORDS);
    return verdict(found == counts ? 0.0 : 1.0);
}

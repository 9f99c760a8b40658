// Genomics: local alignment, with gaps that cost more to open than to widen, of n reads of 24
// bases with 20 to 40 bases of a reference. A pair per thread; bases have two bits.
//
//     nvcc -O2 -o smith_waterman smith_waterman.cu && ./smith_waterman 20000

#include "../host.h"

#define READ 24
#define OPEN 5
#define WIDEN 1

typedef unsigned long long Bases;

__host__ __device__ inline int largest(int a, int b) { return a > b ? a : b; }

__host__ __device__ inline int score_of(Bases read, Bases low, Bases high, int length) {
    int scores[READ], gaps[READ];
#pragma unroll
    for (int i = 0; i < READ; i++) scores[i] = gaps[i] = 0;
    int best = 0;
    for (int j = 0; j < length; j++) {
        const int base = (int)((j < 32 ? low >> (2 * j) : high >> (2 * j - 64)) & 3);
        int diagonal = 0, above = 0, gap = 0;
#pragma unroll
        for (int i = 0; i < READ; i++) {
            const int match = (int)(read >> (2 * i) & 3) == base ? 3 : -2;
            gaps[i] = largest(gaps[i] - WIDEN, scores[i] - OPEN);
            gap = largest(gap - WIDEN, above - OPEN);
            const int score = largest(largest(diagonal + match, 0), largest(gaps[i], gap));
            diagonal = scores[i];
            scores[i] = above = score;
            best = largest(best, score);
        }
    }
    return best;
}

__global__ void align_pairs(const Bases *__restrict__ reads,
                            const ulonglong2 *__restrict__ references,
                            const unsigned char *__restrict__ lengths, int *__restrict__ scores,
                            int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const ulonglong2 reference = references[i];
    scores[i] = score_of(reads[i], reference.x, reference.y, lengths[i]);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 200, 100000000);
    std::vector<Bases> reads = quick_bits<Bases>(n, 2111);
    const std::vector<Bases> references = quick_bits<Bases>(2 * (size_t)n, 2112);
    std::vector<uint8_t> lengths(n);
    for (int i = 0; i < n; i++) {
        const uint32_t bits = mixed(i + 2113u);
        lengths[i] = (uint8_t)(20 + bits % 21u);
        // Most reads are from their reference, with a base that is wrong.
        if (bits >> 30) reads[i] = references[2 * (size_t)i] >> 6 ^ (Bases)1 << (bits >> 8 & 31);
    }
    const Bases *d_reads = to_device(reads), *d_references = to_device(references);
    const uint8_t *d_lengths = to_device(lengths);
    int *d_scores = device_zeros<int>(n);

    const int threads = 64;
    align_pairs<<<(n + threads - 1) / threads, threads>>>(d_reads, (const ulonglong2 *)d_references,
                                                          d_lengths, d_scores, n);
    finish_launches();

    const std::vector<int> scores = from_device(d_scores, n);
    return verdict(sampled_error(scores, [&](size_t i) {
        return score_of(reads[i], references[2 * i], references[2 * i + 1], lengths[i]);
    }));
}

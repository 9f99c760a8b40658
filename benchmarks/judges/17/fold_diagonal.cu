// RNA folding after Nussinov: one diagonal of the tables of n sequences of 192 bases. A thread
// finds how many pairs there can be between base i and base i + 96, from all ways to split that
// piece. The shorter pieces are made up here, by a kernel, as if they had been folded before.
//
//     nvcc -O2 -o fold_diagonal fold_diagonal.cu && ./fold_diagonal 2000

#include "../host.h"

#define BASES 192
#define DISTANCE 96
#define CELLS (BASES - DISTANCE)

__host__ __device__ inline short pairs_before(int sequence, int i, int j) {
    if (j - i < 4) return 0;
    return (short)((j - i) / 4 + mixed((sequence * BASES + i) * BASES + j) % 5);
}

__host__ __device__ inline bool can_pair(char a, char b) {
    return (a == 'A' && b == 'U') || (a == 'U' && b == 'A') || (a == 'G' && b == 'C') ||
           (a == 'C' && b == 'G') || (a == 'G' && b == 'U') || (a == 'U' && b == 'G');
}

__global__ void shorter_pieces(short *__restrict__ tables, long long count) {
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long e = blockIdx.x * (long long)blockDim.x + threadIdx.x; e < count; e += stride) {
        const int j = (int)(e % BASES), i = (int)(e / BASES % BASES);
        const int sequence = (int)(e / (BASES * BASES));
        tables[e] = j < i + DISTANCE ? pairs_before(sequence, i, j) : (short)0;
    }
}

__global__ void fold(const short *__restrict__ tables, const char *__restrict__ bases,
                     short *__restrict__ pairs, int sequences) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int sequence = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= CELLS || sequence >= sequences) return;
    const short *table = tables + (size_t)sequence * BASES * BASES;
    const char *own = bases + (size_t)sequence * BASES;
    const int j = i + DISTANCE;
    int best = table[(i + 1) * BASES + j - 1] + (can_pair(own[i], own[j]) ? 1 : 0);
    for (int k = i; k < j; k++) {
        const int split = table[i * BASES + k] + table[(k + 1) * BASES + j];
        best = split > best ? split : best;
    }
    pairs[(size_t)sequence * CELLS + i] = (short)best;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 4, 60000);
    const long long count = (long long)n * BASES * BASES;
    const size_t cells = (size_t)n * CELLS;
    std::vector<char> bases = quick_bits<char>((size_t)n * BASES, 91);
    for (char &base : bases) base = "ACGU"[base & 3];
    const char *d_bases = to_device(bases);
    short *d_pairs = device_zeros<short>(cells), *d_tables;
    CHECK(cudaMalloc((void **)&d_tables, count * sizeof(short)));

    const long long blocks = (count + 255) / 256;
    shorter_pieces<<<(unsigned)(blocks < 8192 ? blocks : 8192), 256>>>(d_tables, count);
    const dim3 block(32, 4);
    const dim3 grid((CELLS + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    fold<<<grid, block>>>(d_tables, d_bases, d_pairs, n);
    finish_launches();

    return verdict(sampled_error(from_device(d_pairs, cells), [&](size_t e) {
        const int sequence = (int)(e / CELLS), i = (int)(e % CELLS), j = i + DISTANCE;
        const char *own = &bases[(size_t)sequence * BASES];
        int best = pairs_before(sequence, i + 1, j - 1) + (can_pair(own[i], own[j]) ? 1 : 0);
        for (int k = i; k < j; k++) {
            const int split = pairs_before(sequence, i, k) + pairs_before(sequence, k + 1, j);
            best = split > best ? split : best;
        }
        return best;
    }));
}

// Games: n games of four in a row, played to the end by chance. A board is two words of 64 bits,
// seven bits per column; a game ends when one player has four, or after 42 moves.
//
//     nvcc -O2 -o connect_four connect_four.cu && ./connect_four 100000

#include "../host.h"

#define COLUMNS 7
#define ROWS 6

__host__ __device__ inline bool four(unsigned long long stones) {
    const int ways[4] = {1, ROWS, ROWS + 1, ROWS + 2};
    for (int k = 0; k < 4; k++) {
        const unsigned long long pairs = stones & stones >> ways[k];
        if (pairs & pairs >> 2 * ways[k]) return true;
    }
    return false;
}

// Who won, 0 for nobody, and in the higher bits after how many moves.
__host__ __device__ inline unsigned short played(uint32_t random) {
    unsigned long long mine = 0, other = 0;
    for (int move = 0; move < COLUMNS * ROWS; move++) {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        int column = (int)((random >> 8) % COLUMNS);
        const unsigned long long taken = mine | other;
        while (taken >> (column * (ROWS + 1) + ROWS - 1) & 1) column = (column + 1) % COLUMNS;
        const unsigned long long bottom = 1ull << column * (ROWS + 1);
        const unsigned long long full = ((1ull << ROWS) - 1) << column * (ROWS + 1);
        mine |= (taken + bottom) & full & ~taken;
        if (four(mine)) return (unsigned short)((move + 1) << 2 | ((move & 1) + 1));
        const unsigned long long swapped = mine;
        mine = other;
        other = swapped;
    }
    return COLUMNS * ROWS << 2;
}

__global__ void play(unsigned short *__restrict__ results, uint32_t seed, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    results[i] = played(mixed(seed + (uint32_t)i) | 1u);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 300, 2000000000);
    const uint32_t seed = 1615u;
    unsigned short *d_results = device_zeros<unsigned short>(n);

    const int threads = 512;
    const int blocks = n / threads + (n % threads != 0);
    play<<<blocks, threads>>>(d_results, seed, n);
    finish_launches();

    const std::vector<unsigned short> results = from_device(d_results, n);
    return verdict(sampled_error(
        results, [&](size_t i) { return played(mixed(seed + (uint32_t)i) | 1u); }));
}

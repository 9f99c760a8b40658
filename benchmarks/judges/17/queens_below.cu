// Combinatorics: ways to place 17 queens. The first n placements in the upper 8 rows are listed
// by the host, and a thread counts how many ways one of them goes on in the other nine rows, by
// backtracking with a stack of its own.
//
//     nvcc -O2 -o queens_below queens_below.cu && ./queens_below 500000

#include "../host.h"

#define SIZE 17
#define GIVEN 8
#define LEFT_ROWS (SIZE - GIVEN)

// What is attacked in the next row: straight on, and along the two diagonals.
struct Attacked {
    uint32_t columns, left, right;
};

__host__ __device__ inline uint32_t open_places(Attacked a) {
    return ((1u << SIZE) - 1) & ~(a.columns | a.left | a.right);
}

__host__ __device__ inline Attacked with_queen(Attacked a, uint32_t queen) {
    return {a.columns | queen, (a.left | queen) << 1, (a.right | queen) >> 1};
}

__host__ __device__ inline int completions(Attacked attacked) {
    Attacked above[LEFT_ROWS];
    uint32_t untried[LEFT_ROWS];
    int depth = 0, count = 0;
    uint32_t open = open_places(attacked);
    while (true) {
        if (open == 0) {
            if (--depth < 0) return count;
            attacked = above[depth];
            open = untried[depth];
            continue;
        }
        const uint32_t queen = open & (0u - open);
        open ^= queen;
        if (depth == LEFT_ROWS - 1) {
            count++;
            continue;
        }
        above[depth] = attacked;
        untried[depth] = open;
        depth++;
        attacked = with_queen(attacked, queen);
        open = open_places(attacked);
    }
}

__global__ void count_completions(const Attacked *placements, int *counts, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) counts[i] = completions(placements[i]);
}

static void list_placements(Attacked attacked, int rows, size_t most,
                            std::vector<Attacked> &placements) {
    if (placements.size() == most) return;
    if (rows == 0) {
        placements.push_back(attacked);
        return;
    }
    for (uint32_t open = open_places(attacked); open != 0; open &= open - 1)
        list_placements(with_queen(attacked, open & (0u - open)), rows - 1, most, placements);
}

int main(int argc, char **argv) {
    // There are 35312064 placements.
    const int n = size_argument(argc, argv, 300, 35312064);
    std::vector<Attacked> placements;
    placements.reserve(n);
    list_placements({0, 0, 0}, GIVEN, n, placements);
    const Attacked *d_placements = to_device(placements);
    int *d_counts = device_zeros<int>(n);

    const int block = 256;
    count_completions<<<(n + block - 1) / block, block>>>(d_placements, d_counts, n);
    finish_launches();

    return verdict(sampled_error(from_device(d_counts, n),
                                 [&](size_t i) { return completions(placements[i]); }));
}

// Alignment of two sequences: the diagonal of tiles of 16 x 16 of which there are n, from what the
// tiles before them have left at their rims.
//
//     nvcc -O2 -o needleman_diagonal needleman_diagonal.cu && ./needleman_diagonal 2000

#include <algorithm>

#include "../host.h"

#define TILE 16

// `tops`, `lefts`: the rims of each tile, corner first; `bottoms`: its last row.
__global__ void diagonal(const int *scores, const int *tops, const int *lefts, int *bottoms,
                         int penalty, int tiles) {
    __shared__ int best[TILE + 1][TILE + 1], match[TILE][TILE];
    const int t = threadIdx.x, tile = blockIdx.x;
    for (int row = 0; row < TILE; row++)
        match[row][t] = scores[((size_t)tile * TILE + row) * TILE + t];
    best[0][t + 1] = tops[tile * TILE + t];
    best[t + 1][0] = lefts[tile * TILE + t];
    if (t == 0) best[0][0] = 0;
    __syncthreads();
    for (int step = 0; step < 2 * TILE - 1; step++) {
        const int row = step - t;
        if (row >= 0 && row < TILE)
            best[row + 1][t + 1] = max(best[row][t] + match[row][t],
                                       max(best[row + 1][t], best[row][t + 1]) - penalty);
        __syncthreads();
    }
    bottoms[tile * TILE + t] = best[TILE][t + 1];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 100, 400000);
    const std::vector<int> scores = fixed_integers((size_t)n * TILE * TILE, 20, 1907);
    const std::vector<int> tops = fixed_integers((size_t)n * TILE, 9, 1908);
    const std::vector<int> lefts = fixed_integers((size_t)n * TILE, 9, 1909);
    const int *d_scores = to_device(scores), *d_tops = to_device(tops), *d_lefts = to_device(lefts);
    int *d_bottoms = device_zeros<int>((size_t)n * TILE);

    diagonal<<<n, TILE>>>(d_scores, d_tops, d_lefts, d_bottoms, 3, n);
    finish_launches();

    return verdict(sampled_error(from_device(d_bottoms, (size_t)n * TILE), [&](size_t e) {
        const size_t tile = e / TILE, column = e % TILE;
        int best[TILE + 1][TILE + 1] = {};
        for (size_t i = 0; i < TILE; i++) {
            best[0][i + 1] = tops[tile * TILE + i];
            best[i + 1][0] = lefts[tile * TILE + i];
        }
        for (size_t r = 0; r < TILE; r++)
            for (size_t c = 0; c < TILE; c++)
                best[r + 1][c + 1] =
                    std::max(best[r][c] + scores[(tile * TILE + r) * TILE + c],
                             std::max(best[r + 1][c], best[r][c + 1]) - 3);
        return best[TILE][column + 1];
    }));
}

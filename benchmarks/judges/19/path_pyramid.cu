// The cheapest way down a grid of n columns: twelve rows at once in shared memory by blocks of 256
// threads, of which the inner 232 are right.
//
//     nvcc -O2 -o path_pyramid path_pyramid.cu && ./path_pyramid 1000000

#include <algorithm>

#include "../host.h"

#define THREADS 256
#define ROWS 12
#define INNER (THREADS - 2 * ROWS)

__global__ void cheapest(const int *costs, const int *before, int *after, int columns) {
    __shared__ int now[THREADS], next[THREADS];
    const int t = threadIdx.x, column = blockIdx.x * INNER + t - ROWS;
    const bool inside = column >= 0 && column < columns;
    now[t] = inside ? before[column] : 0;
    next[t] = 0;
    const int west = column > 0 ? t - 1 : t, east = column < columns - 1 ? t + 1 : t;
    __syncthreads();
    for (int row = 0; row < ROWS; row++) {
        const bool valid = inside && t > row && t < THREADS - 1 - row;
        if (valid) {
            const int least = min(now[t], min(now[west], now[east]));
            next[t] = least + costs[(size_t)row * columns + column];
        }
        __syncthreads();
        if (valid) now[t] = next[t];
        __syncthreads();
    }
    if (inside && t >= ROWS && t < THREADS - ROWS) after[column] = now[t];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 2000, 20000000);
    const std::vector<int> costs = fixed_integers((size_t)ROWS * n, 10, 1903);
    const std::vector<int> before = fixed_integers(n, 50, 1904);
    const int *d_costs = to_device(costs), *d_before = to_device(before);
    int *d_after = device_zeros<int>(n);

    cheapest<<<(n + INNER - 1) / INNER, THREADS>>>(d_costs, d_before, d_after, n);
    finish_launches();

    return verdict(sampled_error(from_device(d_after, n), [&](size_t e) {
        std::vector<int> now(2 * ROWS + 1);
        const long first = (long)e - ROWS;
        const auto at = [&](long c) { return (size_t)(c < 0 ? 0 : c >= n ? n - 1 : c); };
        for (long c = 0; c <= 2 * ROWS; c++) now[c] = before[at(first + c)];
        for (int row = 0; row < ROWS; row++) {
            const std::vector<int> old = now;
            for (long c = row + 1; c < 2 * ROWS - row; c++)
                now[c] = std::min(old[c], std::min(old[c - 1], old[c + 1])) +
                         costs[(size_t)row * n + at(first + c)];
        }
        return now[ROWS];
    }));
}

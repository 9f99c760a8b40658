// Heat on a chip of n x n cells: a block loads 16 x 16 cells and makes three steps of them in shared
// memory, of which the inner 10 x 10 are right.
//
//     nvcc -O2 -o hotspot_pyramid hotspot_pyramid.cu && ./hotspot_pyramid 1024

#include "../host.h"

#define SIDE 16
#define STEPS 3
#define INNER (SIDE - 2 * STEPS)

__global__ void heat_steps(const float *power, const float *before, float *after, int n) {
    __shared__ float now[SIDE][SIDE], next[SIDE][SIDE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int column = blockIdx.x * INNER + tx - STEPS, row = blockIdx.y * INNER + ty - STEPS;
    const bool inside = column >= 0 && column < n && row >= 0 && row < n;
    float heat = 0.0f;
    if (inside) {
        now[ty][tx] = before[row * n + column];
        heat = power[row * n + column];
    } else {
        now[ty][tx] = 0.0f;
    }
    next[ty][tx] = 0.0f;
    __syncthreads();
    const int north = row > 0 ? ty - 1 : ty, south = row < n - 1 ? ty + 1 : ty;
    const int west = column > 0 ? tx - 1 : tx, east = column < n - 1 ? tx + 1 : tx;
    for (int step = 1; step <= STEPS; step++) {
        const bool valid = inside && tx >= step && tx < SIDE - step && ty >= step && ty < SIDE - step;
        if (valid) {
            const float centre = now[ty][tx];
            next[ty][tx] = centre + 0.1f * (heat + now[north][tx] + now[south][tx] +
                                            now[ty][west] + now[ty][east] - 4.0f * centre);
        }
        __syncthreads();
        if (valid) now[ty][tx] = next[ty][tx];
        __syncthreads();
    }
    const bool kept = tx >= STEPS && tx < SIDE - STEPS && ty >= STEPS && ty < SIDE - STEPS;
    if (kept && inside) after[row * n + column] = now[ty][tx];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 256, 16384);
    const size_t count = (size_t)n * n;
    const std::vector<float> power = quick_values(count, 1901), before = quick_values(count, 1902);
    const float *d_power = to_device(power), *d_before = to_device(before);
    float *d_after = device_zeros<float>(count);

    const dim3 block(SIDE, SIDE), grid((n + INNER - 1) / INNER, (n + INNER - 1) / INNER);
    heat_steps<<<grid, block>>>(d_power, d_before, d_after, n);
    finish_launches();

    // Three steps of a cell, by the cells around it.
    struct Steps {
        const std::vector<float> &power, &before;
        int n;
        double of(int row, int column, int steps) const {
            if (steps == 0) return before[(size_t)row * n + column];
            const int n1 = row > 0 ? row - 1 : row, s1 = row < n - 1 ? row + 1 : row;
            const int w1 = column > 0 ? column - 1 : column, e1 = column < n - 1 ? column + 1 : column;
            const double c = of(row, column, steps - 1);
            return c + 0.1 * (power[(size_t)row * n + column] + of(n1, column, steps - 1) +
                              of(s1, column, steps - 1) + of(row, w1, steps - 1) +
                              of(row, e1, steps - 1) - 4.0 * c);
        }
    } const host{power, before, n};
    return verdict(sampled_error(from_device(d_after, count), [&](size_t e) {
        return host.of((int)(e / n), (int)(e % n), STEPS);
    }));
}

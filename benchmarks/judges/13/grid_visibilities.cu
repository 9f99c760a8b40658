// Radio astronomy: n complex visibilities are spread over 5 x 5 cells each of a grid of 2048 x 2048
// cells, with weights from a table, by atomic additions. Places are denser in the middle.
//
//     nvcc -O2 -o grid_visibilities grid_visibilities.cu && ./grid_visibilities 100000

#include "../host.h"

#define SIDE 2048
#define SUPPORT 5
#define FINE 8

__global__ void grid_visibilities(const float2 *__restrict__ places,
                                  const float2 *__restrict__ visibilities,
                                  const float *__restrict__ weights, float *grid, int count,
                                  int side) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const float2 place = places[i], value = visibilities[i];
    const int u = (int)floorf(place.x), v = (int)floorf(place.y);
    const float *across = weights + (int)((place.x - (float)u) * FINE) * SUPPORT;
    const float *down = weights + (int)((place.y - (float)v) * FINE) * SUPPORT;
    for (int r = 0; r < SUPPORT; r++)
        for (int c = 0; c < SUPPORT; c++) {
            const float weight = down[r] * across[c];
            float *cell = grid + 2 * ((v + r - SUPPORT / 2) * side + u + c - SUPPORT / 2);
            atomicAdd(cell, weight * value.x);
            atomicAdd(cell + 1, weight * value.y);
        }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1 << 28);
    std::vector<float2> places(n), visibilities(n);
    for (int i = 0; i < n; i++) {
        // Tracks around the centre, as the earth turns: neighbours lie near each other.
        const uint32_t bits = mixed(i), track = mixed(i / 64 + 0x40000000);
        const float dx = (float)(track & 1023) - 511.5f, dy = (float)(track >> 10 & 1023) - 511.5f;
        const float far = (float)(track >> 20) / 4096.0f + (float)(i & 63) / 256.0f;
        places[i] = {SIDE / 2 + 1.4f * far * dx + (float)(bits & 255) / 256.0f,
                     SIDE / 2 + 1.4f * far * dy + (float)(bits >> 8 & 255) / 256.0f};
        visibilities[i] = {(float)(bits >> 16 & 255) / 256.0f, (float)(bits >> 24) / 256.0f};
    }
    std::vector<float> weights(FINE * SUPPORT);
    for (int f = 0; f < FINE; f++)
        for (int k = 0; k < SUPPORT; k++) {
            const float away = (float)(k - SUPPORT / 2) - ((float)f + 0.5f) / FINE;
            weights[f * SUPPORT + k] = expf(-0.7f * away * away);
        }
    const float2 *d_places = to_device(places), *d_visibilities = to_device(visibilities);
    const float *d_weights = to_device(weights);
    float *d_grid = device_zeros<float>(2 * SIDE * SIDE);

    const int threads = 256, blocks = (n + threads - 1) / threads;
    grid_visibilities<<<blocks, threads>>>(d_places, d_visibilities, d_weights, d_grid, n, SIDE);
    finish_launches();

    std::vector<double> grid(2 * SIDE * SIDE);
    for (int i = 0; i < n; i++) {
        const int u = (int)floorf(places[i].x), v = (int)floorf(places[i].y);
        const int fx = (int)((places[i].x - (float)u) * FINE);
        const int fy = (int)((places[i].y - (float)v) * FINE);
        for (int r = 0; r < SUPPORT; r++)
            for (int c = 0; c < SUPPORT; c++) {
                const float weight = weights[fy * SUPPORT + r] * weights[fx * SUPPORT + c];
                const int cell = (v + r - SUPPORT / 2) * SIDE + u + c - SUPPORT / 2;
                grid[2 * cell] += weight * visibilities[i].x;
                grid[2 * cell + 1] += weight * visibilities[i].y;
            }
    }
    // Sums of rows, since most cells are empty where visibilities are few.
    const std::vector<float> found = from_device(d_grid, 2 * SIDE * SIDE);
    std::vector<double> sums(SIDE), wanted(SIDE);
    for (int e = 0; e < 2 * SIDE * SIDE; e++) {
        const double sign = 1.0 + 0.25 * (e % 7);
        sums[e / (2 * SIDE)] += sign * found[e];
        wanted[e / (2 * SIDE)] += sign * grid[e];
    }
    return verdict(sampled_error(sums, [&](size_t row) { return wanted[row]; }));
}

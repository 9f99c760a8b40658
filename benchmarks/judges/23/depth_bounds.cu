// Graphics: the nearest and the farthest depth of each 16 x 16 pixels of a picture of n x (9n/16 +
// 1), for a renderer that sorts lights into tiles. A pixel without depth counts for neither.
//
//     nvcc -O2 -o depth_bounds depth_bounds.cu && ./depth_bounds 800

#include "checked.h"

#define TILE 16

__global__ void tile_bounds(const float *depth, float2 *bounds, int width, int height) {
    __shared__ float nearest[TILE * TILE];
    __shared__ float farthest[TILE * TILE];
    const int x = blockIdx.x * TILE + threadIdx.x;
    const int y = blockIdx.y * TILE + threadIdx.y;
    const int t = threadIdx.y * TILE + threadIdx.x;

    const float d = x < width && y < height ? depth[y * width + x] : 0.0f;
    nearest[t] = d > 0.0f ? d : 1e30f;
    farthest[t] = d;
    __syncthreads();

    for (int half = TILE * TILE / 2; half > 0; half /= 2) {
        if (t < half) {
            nearest[t] = fminf(nearest[t], nearest[t + half]);
            farthest[t] = fmaxf(farthest[t], farthest[t + half]);
        }
        __syncthreads();
    }
    if (t == 0) bounds[blockIdx.y * gridDim.x + blockIdx.x] = make_float2(nearest[0], farthest[0]);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 60, 28000), height = 9 * n / 16 + 1;
    std::vector<float> depth = quick_values((size_t)n * height, 3171);
    for (float &d : depth) d = d < 0.1f ? 0.0f : d * 100.0f;
    const float *d_depth = to_device(depth);

    const dim3 grid((n + TILE - 1) / TILE, (height + TILE - 1) / TILE);
    const size_t tiles = (size_t)grid.x * grid.y;
    float2 *d_bounds = device_zeros<float2>(tiles);

    tile_bounds<<<grid, dim3(TILE, TILE)>>>(d_depth, d_bounds, n, height);
    finish_launches();

    const std::vector<float2> bounds = from_device(d_bounds, tiles);
    double sum = 0.0;
    for (const float2 b : bounds) sum += (double)b.y - b.x;
    printf("checksum of bounds: %.10g\n", sum);
    return verdict(sampled_wrong(tiles, [&](size_t tile) {
        const int left = (int)(tile % grid.x) * TILE, top = (int)(tile / grid.x) * TILE;
        float nearest = 1e30f, farthest = 0.0f;
        for (int y = top; y < top + TILE && y < height; y++)
            for (int x = left; x < left + TILE && x < n; x++) {
                const float d = depth[(size_t)y * n + x];
                if (d > 0.0f && d < nearest) nearest = d;
                if (d > farthest) farthest = d;
            }
        return bounds[tile].x == nearest && bounds[tile].y == farthest;
    }));
}

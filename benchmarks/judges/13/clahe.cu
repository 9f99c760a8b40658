// Adaptive histogram equalization with limited contrast of an image of n x n bytes: for each tile
// of 64 x 64 pixels a block counts the grey values in shared memory, clips the counts and sums them
// up to a table; then each pixel is looked up in the tables of the four nearest tiles.
//
//     nvcc -O2 -o clahe clahe.cu && ./clahe 1024

#include <algorithm>

#include "../host.h"

#define TILE 64
#define LEVELS 256
#define CLIP 40

#pragma cutune kernel clahe_tables data(width, height) \
    block(x: 32, 64, 128, 256, 512, 1024) grid(keep)
__global__ void clahe_tables(const unsigned char *__restrict__ image,
                             unsigned char *__restrict__ tables, int width, int height) {
    __shared__ int counts[LEVELS];
    __shared__ int excess;
    const int left = blockIdx.x * TILE, top = blockIdx.y * TILE;
    for (int i = threadIdx.x; i < LEVELS; i += blockDim.x) counts[i] = 0;
    if (threadIdx.x == 0) excess = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < TILE * TILE; i += blockDim.x) {
        const int x = min(left + i % TILE, width - 1), y = min(top + i / TILE, height - 1);
        atomicAdd(&counts[image[(size_t)y * width + x]], 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < LEVELS; i += blockDim.x)
        if (counts[i] > CLIP) {
            atomicAdd(&excess, counts[i] - CLIP);
            counts[i] = CLIP;
        }
    __syncthreads();
    for (int i = threadIdx.x; i < LEVELS; i += blockDim.x) counts[i] += excess / LEVELS;
    __syncthreads();
    // Sums up to each level, up and down a tree.
    for (int reach = 1; reach < LEVELS; reach *= 2) {
        for (int i = threadIdx.x; i < LEVELS / (2 * reach); i += blockDim.x) {
            const int last = (i + 1) * 2 * reach - 1;
            counts[last] += counts[last - reach];
        }
        __syncthreads();
    }
    for (int reach = LEVELS / 4; reach > 0; reach /= 2) {
        for (int i = threadIdx.x; i < LEVELS / (2 * reach) - 1; i += blockDim.x) {
            const int last = (i + 1) * 2 * reach - 1;
            counts[last + reach] += counts[last];
        }
        __syncthreads();
    }
    unsigned char *table = tables + ((size_t)blockIdx.y * gridDim.x + blockIdx.x) * LEVELS;
    for (int i = threadIdx.x; i < LEVELS; i += blockDim.x)
        table[i] = (unsigned char)min(counts[i] * (LEVELS - 1) / (TILE * TILE), LEVELS - 1);
}

__global__ void clahe_apply(const unsigned char *__restrict__ image,
                            const unsigned char *__restrict__ tables,
                            unsigned char *__restrict__ out, int width, int height, int tiles_x,
                            int tiles_y) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const float tx = ((float)x + 0.5f) / TILE - 0.5f, ty = ((float)y + 0.5f) / TILE - 0.5f;
    const int x0 = (int)floorf(tx), y0 = (int)floorf(ty);
    const float fx = tx - (float)x0, fy = ty - (float)y0;
    const int left = max(x0, 0), right = min(x0 + 1, tiles_x - 1);
    const int top = max(y0, 0), bottom = min(y0 + 1, tiles_y - 1);
    const int level = image[(size_t)y * width + x];
    const float a = tables[(top * tiles_x + left) * LEVELS + level];
    const float b = tables[(top * tiles_x + right) * LEVELS + level];
    const float c = tables[(bottom * tiles_x + left) * LEVELS + level];
    const float d = tables[(bottom * tiles_x + right) * LEVELS + level];
    const float upper = a + (b - a) * fx, lower = c + (d - c) * fx;
    out[(size_t)y * width + x] = (unsigned char)(upper + (lower - upper) * fy + 0.5f);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 100, 40000);
    const size_t count = (size_t)n * n;
    std::vector<unsigned char> image(count);
    for (int y = 0; y < n; y++)
        for (int x = 0; x < n; x++) {
            const uint32_t noise = mixed((uint32_t)y * n + x) & 31;
            image[(size_t)y * n + x] = (unsigned char)(60 + ((x ^ y) >> 3 & 63) + noise);
        }
    const int tiles = (n + TILE - 1) / TILE;
    const unsigned char *d_image = to_device(image);
    unsigned char *d_tables = device_zeros<unsigned char>((size_t)tiles * tiles * LEVELS);
    unsigned char *d_out = device_zeros<unsigned char>(count);

    clahe_tables<<<dim3(tiles, tiles), 256>>>(d_image, d_tables, n, n);
    dim3 block(32, 8);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    clahe_apply<<<grid, block>>>(d_image, d_tables, d_out, n, n, tiles, tiles);
    finish_launches();

    auto entry = [&](int column, int row, int level) {
        int counts[LEVELS] = {}, excess = 0, sum = 0;
        for (int i = 0; i < TILE * TILE; i++) {
            const int x = std::min(column * TILE + i % TILE, n - 1);
            const int y = std::min(row * TILE + i / TILE, n - 1);
            counts[image[(size_t)y * n + x]]++;
        }
        for (int &one : counts) {
            excess += std::max(one - CLIP, 0);
            one = std::min(one, CLIP);
        }
        for (int i = 0; i <= level; i++) sum += counts[i] + excess / LEVELS;
        return (double)std::min(sum * (LEVELS - 1) / (TILE * TILE), LEVELS - 1);
    };
    const std::vector<unsigned char> out = from_device(d_out, count);
    return verdict(sampled_error(out, [&](size_t e) {
        const int x = (int)(e % n), y = (int)(e / n), level = image[e];
        const double tx = (x + 0.5) / TILE - 0.5, ty = (y + 0.5) / TILE - 0.5;
        const int x0 = (int)floor(tx), y0 = (int)floor(ty);
        const int left = std::max(x0, 0), right = std::min(x0 + 1, tiles - 1);
        const int top = std::max(y0, 0), bottom = std::min(y0 + 1, tiles - 1);
        const double upper = entry(left, top, level) * (1.0 - (tx - x0)) +
                             entry(right, top, level) * (tx - x0);
        const double lower = entry(left, bottom, level) * (1.0 - (tx - x0)) +
                             entry(right, bottom, level) * (tx - x0);
        const double wanted = upper + (lower - upper) * (ty - y0);
        // What lies between two whole numbers may be rounded to either.
        return fabs(out[e] - wanted) < 0.5001 ? (double)out[e] : wanted;
    }));
}

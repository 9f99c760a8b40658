// The squared distance of each of n x n pixels to the nearest one that is set: a thread per column
// finds the distances along it, and then each pixel searches its row until no better can come.
//
//     nvcc -O2 -o distance_map distance_map.cu && ./distance_map 1000

#include "../host.h"

__global__ void column_distances(const unsigned char *mask, int *distance, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= width) return;
    int since = width + height;
    for (int y = 0; y < height; y++) {
        since = mask[y * width + x] ? 0 : since + 1;
        distance[y * width + x] = since;
    }
    since = width + height;
    for (int y = height - 1; y >= 0; y--) {
        since = min(since + 1, distance[y * width + x]);
        distance[y * width + x] = since;
    }
}

__global__ void search_rows(const int *distance, int *squared, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const int *row = distance + y * width;
    int best = row[x] * row[x];
    for (int dx = 1; dx * dx < best; dx++) {
        if (x - dx >= 0) best = min(best, dx * dx + row[x - dx] * row[x - dx]);
        if (x + dx < width) best = min(best, dx * dx + row[x + dx] * row[x + dx]);
    }
    squared[y * width + x] = best;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64, 12000);
    const size_t count = (size_t)n * n;
    std::vector<unsigned char> mask(count);
    // From one pixel in 16 at the left to one in 1024 at the right.
    for (size_t e = 0; e < count; e++)
        mask[e] = (mixed((uint32_t)e) & ((16u << (e % n * 7 / n)) - 1)) == 0;
    mask[count / 2] = 1;
    const unsigned char *d_mask = to_device(mask);
    int *d_distance = device_zeros<int>(count), *d_squared = device_zeros<int>(count);

    const int threads = 256;
    column_distances<<<(n + threads - 1) / threads, threads>>>(d_mask, d_distance, n, n);
    dim3 block(32, 32);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    search_rows<<<grid, block>>>(d_distance, d_squared, n, n);
    finish_launches();

    return verdict(sampled_error(from_device(d_squared, count), [&](size_t e) {
        // Rings of pixels around this one.
        const int x = (int)(e % n), y = (int)(e / n);
        int best = 2 * n * n;
        for (int reach = 0; reach * reach < best && reach < n; reach++)
            for (int dy = -reach; dy <= reach; dy++) {
                const int step = reach == 0 || abs(dy) == reach ? 1 : 2 * reach;
                for (int dx = -reach; dx <= reach; dx += step)
                    if (x + dx >= 0 && y + dy >= 0 && x + dx < n && y + dy < n &&
                        mask[(size_t)(y + dy) * n + x + dx] && dx * dx + dy * dy < best)
                        best = dx * dx + dy * dy;
            }
        return best;
    }));
}

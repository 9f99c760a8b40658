// n embeddings of 256 floats are scaled to length one, in place: a tile of 32 threads per row, with
// cooperative groups.
//
//     nvcc -O2 -o l2_normalise l2_normalise.cu && ./l2_normalise 200000

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "checksum.h"

namespace cg = cooperative_groups;

#define WIDTH 256

__global__ void l2_normalise(float *__restrict__ embeddings, int rows) {
    const cg::thread_block block = cg::this_thread_block();
    const cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    const int row = blockIdx.x * tile.meta_group_size() + tile.meta_group_rank();
    if (row >= rows) return;
    float *own = embeddings + (size_t)row * WIDTH;
    float sum = 0.0f;
    for (int c = tile.thread_rank(); c < WIDTH; c += tile.size()) sum += own[c] * own[c];
    sum = cg::reduce(tile, sum, cg::plus<float>());
    const float scale = 1.0f / fmaxf(sqrtf(sum), 1e-12f);
    for (int c = tile.thread_rank(); c < WIDTH; c += tile.size()) own[c] *= scale;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 30, 8000000);
    const size_t count = (size_t)n * WIDTH;
    std::vector<float> embeddings = quick_values(count, 1840);
    for (float &value : embeddings) value -= 0.3f;
    float *d_embeddings = to_device(embeddings);

    const int threads = 128, rows_per_block = threads / 32;
    l2_normalise<<<(n + rows_per_block - 1) / rows_per_block, threads>>>(d_embeddings, n);
    finish_launches();

    const std::vector<float> scaled = from_device(d_embeddings, count);
    return report(checksum_of(scaled), sampled_error(scaled, [&](size_t e) {
        double sum = 0.0;
        for (size_t i = e / WIDTH * WIDTH; i < (e / WIDTH + 1) * WIDTH; i++)
            sum += (double)embeddings[i] * embeddings[i];
        return embeddings[e] / sqrt(sum);
    }));
}

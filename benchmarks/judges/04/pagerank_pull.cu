// A step of PageRank on a graph of n pages in CSR form, a page per thread. Few pages have very many
// links to them.
//
//     nvcc -O2 -o pagerank_pull pagerank_pull.cu && ./pagerank_pull 100000

#include "../judge.h"

#define DAMPING 0.85f

__global__ void pagerank_pull(int n, const int *starts, const int *sources, const float *share,
                              float *rank) {
    const int page = blockIdx.x * blockDim.x + threadIdx.x;
    if (page < n) {
        float sum = 0.0f;
        for (int e = starts[page]; e < starts[page + 1]; e++) sum += share[sources[e]];
        rank[page] = (1.0f - DAMPING) / n + DAMPING * sum;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 2000, 1 << 24);
    const std::vector<int> places = fixed_integers(n, 200, 1);
    std::vector<int> starts(n + 1);
    for (int page = 0; page < n; page++) starts[page + 1] = starts[page] + 400 / (1 + places[page]);
    const std::vector<int> sources = fixed_integers(starts[n], n, 2);
    std::vector<float> share = fixed_values(n, 3);
    for (float &value : share) value /= 8.0f * n;
    const int *device_starts = to_device(starts), *device_sources = to_device(sources);
    const float *device_share = to_device(share);
    float *device_rank = to_device(std::vector<float>(n));

    const int threads_per_block = 256;
    const int blocks_per_grid = (n + threads_per_block - 1) / threads_per_block;
    pagerank_pull<<<blocks_per_grid, threads_per_block>>>(n, device_starts, device_sources,
                                                          device_share, device_rank);
    finish_launches();

    return verdict(sampled_error(from_device(device_rank, n), [&](size_t page) {
        double sum = 0.0;
        for (int e = starts[page]; e < starts[page + 1]; e++) sum += share[sources[e]];
        return (1.0 - DAMPING) / n + DAMPING * sum;
    }));
}

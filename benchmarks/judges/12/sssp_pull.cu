// Shortest paths in a graph of n vertices: three rounds of Bellman and Ford, in which each vertex
// looks at all edges that come in, two to 14 and at one in 64 vertices 200 (CSR form).
//
//     nvcc -O2 -o sssp_pull sssp_pull.cu && ./sssp_pull 100000

#include "../host.h"

#define ROUNDS 3

__global__ void sssp_pull(int vertices, const int *__restrict__ first,
                          const int *__restrict__ sources, const int *__restrict__ weights,
                          const int *__restrict__ before, int *__restrict__ after) {
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v < vertices) {
        int best = before[v];
        for (int e = first[v]; e < first[v + 1]; e++) {
            const int through = before[sources[e]] + weights[e];
            if (through < best) best = through;
        }
        after[v] = best;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1 << 24);
    std::vector<int> first(n + 1, 0), start(n);
    for (int v = 0; v < n; v++) {
        const uint32_t random = mixed(v);
        first[v + 1] = first[v] + (random % 64 == 0 ? 200 : 2 + (int)(random / 64 % 13));
        start[v] = random % 16 == 1 ? (int)(random >> 16) : 1 << 20;
    }
    const int edges = first[n];
    std::vector<int> sources(edges), weights(edges);
    for (int e = 0; e < edges; e++) {
        sources[e] = (int)(mixed(e + 12345u) % (uint32_t)n);
        weights[e] = 1 + (int)(mixed(e + 99999u) & 0xfff);
    }
    const int *d_first = to_device(first), *d_sources = to_device(sources);
    const int *d_weights = to_device(weights);
    int *d_before = to_device(start), *d_after = device_zeros<int>(n);

    const int threads = 256, blocks = (n + threads - 1) / threads;
    for (int round = 0; round < ROUNDS; round++) {
        sssp_pull<<<blocks, threads>>>(n, d_first, d_sources, d_weights, d_before, d_after);
        std::swap(d_before, d_after);
    }
    finish_launches();

    struct Distance {
        const std::vector<int> &first, &sources, &weights, &start;
        int operator()(int v, int rounds) const {
            if (rounds == 0) return start[v];
            int best = (*this)(v, rounds - 1);
            for (int e = first[v]; e < first[v + 1]; e++)
                best = std::min(best, (*this)(sources[e], rounds - 1) + weights[e]);
            return best;
        }
    };
    const Distance distance = {first, sources, weights, start};
    return verdict(sampled_error(from_device(d_before, n),
                                 [&](size_t v) { return distance((int)v, ROUNDS); }));
}

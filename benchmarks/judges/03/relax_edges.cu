// Six rounds of Bellman and Ford's shortest paths in a graph of n vertices and 6 n edges, one
// thread per edge. Every thousandth vertex is a source.
//
//     nvcc -O2 -o relax_edges relax_edges.cu && ./relax_edges 100000

#include "../judge.h"

#include <algorithm>

#define DEGREE 6
#define ROUNDS 6
#define FAR 1000000000

__global__ void relax_edges(int edges, const int *from, const int *to, const int *lengths,
                            const int *before, int *distances) {
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= edges) return;
    const int distance = before[from[e]];
    if (distance < FAR) atomicMin(&distances[to[e]], distance + lengths[e]);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 5000, 1 << 27);
    const int edges = DEGREE * n;
    std::vector<int> from(edges);
    for (int e = 0; e < edges; e++) from[e] = e / DEGREE;
    const std::vector<int> to = fixed_integers(edges, n, 1);
    const std::vector<int> lengths = fixed_integers(edges, 100, 2);
    std::vector<int> distances(n, FAR);
    for (int vertex = 0; vertex < n; vertex += 1000) distances[vertex] = 0;
    const int *device_from = to_device(from), *device_to = to_device(to);
    const int *device_lengths = to_device(lengths);
    int *device_before = to_device(distances), *device_distances = to_device(distances);

    const int threads = 512;
    const int blocks = (edges + threads - 1) / threads;
    const size_t bytes = n * sizeof(int);
    for (int round = 0; round < ROUNDS; round++) {
        CHECK(cudaMemcpy(device_before, device_distances, bytes, cudaMemcpyDeviceToDevice));
        relax_edges<<<blocks, threads>>>(edges, device_from, device_to, device_lengths,
                                         device_before, device_distances);
    }
    finish_launches();

    for (int round = 0; round < ROUNDS; round++) {
        const std::vector<int> before = distances;
        for (int e = 0; e < edges; e++)
            if (before[from[e]] < FAR)
                distances[to[e]] = std::min(distances[to[e]], before[from[e]] + lengths[e]);
    }
    // Vertices that are not reached would hide differences of the others.
    const std::vector<int> found = from_device(device_distances, n);
    std::vector<float> same(n);
    for (int vertex = 0; vertex < n; vertex++) same[vertex] = found[vertex] == distances[vertex];
    return verdict(sampled_error(same, [](size_t) { return 1.0f; }));
}

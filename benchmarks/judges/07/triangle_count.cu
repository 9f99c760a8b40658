// How many triangles of a graph of n vertices begin at each vertex. Edges lead to higher numbers,
// neighbours are sorted, and a vertex's thread intersects its list with those of its neighbours.
//
//     nvcc -O2 -o triangle_count triangle_count.cu && ./triangle_count 100000

#include <algorithm>

#include "../host.h"

__host__ __device__ inline int triangles(int v, const int *offsets, const int *neighbours) {
    const int end = offsets[v + 1];
    int count = 0;
    for (int e = offsets[v]; e < end; e++) {
        const int w = neighbours[e];
        int i = e + 1, j = offsets[w];
        const int last = offsets[w + 1];
        while (i < end && j < last) {
            const int a = neighbours[i], b = neighbours[j];
            if (a == b) count++;
            if (a <= b) i++;
            if (b <= a) j++;
        }
    }
    return count;
}

__global__ void triangle_count(int vertices, const int *offsets, const int *neighbours,
                               int *counts) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v < vertices) counts[v] = triangles(v, offsets, neighbours);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 20000000);
    std::vector<int> offsets(n + 1), neighbours;
    neighbours.reserve(10 * (size_t)n);
    for (int v = 0; v < n; v++) {
        const uint32_t bits = mixed(v + 2u);
        const int tries = 2 + (int)(bits % 13) + (bits % 101 == 0 ? 40 : 0);
        for (int t = 0; t < tries; t++) {
            // Most are near, and a fifth is anywhere up to 100000 further on.
            const uint32_t more = mixed(bits + t);
            const int w = v + 1 + (int)(more >> 8) % (more % 5 == 0 ? 100000 : 50);
            if (w < n) neighbours.push_back(w);
        }
        const auto first = neighbours.begin() + offsets[v];
        std::sort(first, neighbours.end());
        neighbours.erase(std::unique(first, neighbours.end()), neighbours.end());
        offsets[v + 1] = (int)neighbours.size();
    }
    const int *d_offsets = to_device(offsets), *d_neighbours = to_device(neighbours);
    int *d_counts = device_zeros<int>(n);

    const int num_threads = 256;
    triangle_count<<<(n + num_threads - 1) / num_threads, num_threads>>>(n, d_offsets,
                                                                         d_neighbours, d_counts);
    finish_launches();

    return verdict(sampled_error(from_device(d_counts, n), [&](size_t v) {
        return triangles((int)v, offsets.data(), neighbours.data());
    }));
}

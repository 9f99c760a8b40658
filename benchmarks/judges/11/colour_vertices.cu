// Colours for the vertices of a graph with n vertices and 4 n edges, some of them at few vertices:
// in each of four rounds those vertices get the round's colour whose random number is the largest
// among all neighbours without a colour. Which of two threads is first does not matter.
//
//     nvcc -O2 -o colour_vertices colour_vertices.cu && ./colour_vertices 100000

#include "../host.h"

#define ROUNDS 4

__host__ __device__ inline uint32_t priority(int vertex) { return mixed((uint32_t)vertex + 77u); }

__global__ void colour_vertices(int vertices, const int *__restrict__ first,
                                const int *__restrict__ neighbours, int *colours, int round) {
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v < vertices && colours[v] < 0) {
        const uint32_t own = priority(v);
        bool largest = true;
        for (int e = first[v]; e < first[v + 1]; e++) {
            const int other = neighbours[e], colour = colours[other];
            if ((colour < 0 || colour == round) && priority(other) > own) {
                largest = false;
                break;
            }
        }
        if (largest) colours[v] = round;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1 << 24);
    const int edges = 4 * n;
    // One end of each sixteenth edge lies among a hundredth of the vertices.
    std::vector<int> ends(2 * (size_t)edges), first(n + 1, 0), neighbours(ends.size());
    for (int e = 0; e < edges; e++) {
        const int a = (int)(mixed(2 * e) % (uint32_t)n);
        const int limit = e % 16 == 0 ? n / 100 + 2 : n;
        int b = (int)(mixed(2 * e + 1) % (uint32_t)limit);
        if (a == b) b = (b + 1) % n;
        ends[2 * (size_t)e] = a;
        ends[2 * (size_t)e + 1] = b;
    }
    for (int end : ends) first[end + 1]++;
    for (int v = 0; v < n; v++) first[v + 1] += first[v];
    std::vector<int> next(first.begin(), first.end() - 1);
    for (size_t e = 0; e < ends.size(); e++) neighbours[next[ends[e]]++] = ends[e ^ 1];
    std::vector<int> colours(n, -1);
    const int *d_first = to_device(first), *d_neighbours = to_device(neighbours);
    int *d_colours = to_device(colours);

    const int threads = 256, blocks = (n + threads - 1) / threads;
    for (int round = 0; round < ROUNDS; round++)
        colour_vertices<<<blocks, threads>>>(n, d_first, d_neighbours, d_colours, round);
    finish_launches();

    for (int round = 0; round < ROUNDS; round++)
        for (int v = 0; v < n; v++) {
            bool largest = colours[v] < 0;
            for (int e = first[v]; largest && e < first[v + 1]; e++) {
                const int other = neighbours[e], colour = colours[other];
                largest = (colour >= 0 && colour != round) || priority(other) <= priority(v);
            }
            if (largest) colours[v] = round;
        }
    return verdict(
        sampled_error(from_device(d_colours, n), [&](size_t v) { return colours[v]; }));
}

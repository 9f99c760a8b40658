// Breadth-first search over a random graph of n vertices in CSR form: a launch per level, a thread
// per vertex, and the vertices of the newest level mark their neighbours. Eight levels.
//
//     nvcc -O2 -o bfs_push bfs_push.cu && ./bfs_push 100000

#include "../host.h"

#define LEVELS 8

__global__ void visit(int vertices, const int *offsets, const int *neighbours, int depth,
                      int *level) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v < vertices && level[v] == depth) {
        for (int e = offsets[v]; e < offsets[v + 1]; e++) {
            int w = neighbours[e];
            if (level[w] < 0) level[w] = depth + 1;
        }
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 20000000);
    std::vector<int> offsets(n + 1);
    for (int v = 0; v < n; v++) {
        const uint32_t bits = mixed(v + 9u);
        offsets[v + 1] = offsets[v] + 1 + (int)(bits % 16) + (bits % 64 == 0 ? 60 : 0);
    }
    std::vector<int> neighbours(offsets[n]);
    for (size_t e = 0; e < neighbours.size(); e++) neighbours[e] = mixed((uint32_t)e + 1u) % n;
    std::vector<int> level(n, -1);
    level[n / 2] = 0;
    const int *d_offsets = to_device(offsets), *d_neighbours = to_device(neighbours);
    int *d_level = to_device(level);

    const int block_size = 512;
    const int num_blocks = (n + block_size - 1) / block_size;
    for (int depth = 0; depth < LEVELS; depth++) {
        visit<<<num_blocks, block_size>>>(n, d_offsets, d_neighbours, depth, d_level);
    }
    finish_launches();

    std::vector<int> frontier = {n / 2};
    for (int depth = 0; depth < LEVELS; depth++) {
        std::vector<int> found;
        for (int v : frontier)
            for (int e = offsets[v]; e < offsets[v + 1]; e++)
                if (level[neighbours[e]] < 0) {
                    level[neighbours[e]] = depth + 1;
                    found.push_back(neighbours[e]);
                }
        frontier.swap(found);
    }
    return verdict(from_device(d_level, n) == level ? 0.0 : 1.0);
}

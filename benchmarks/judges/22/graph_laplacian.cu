// Networks: the Laplacian of a graph times a vector, n nodes with 4 to 12 neighbours each, most of
// them close; offsets of 64 bits.
//
//     nvcc -O2 -o graph_laplacian graph_laplacian.cu && ./graph_laplacian 30000

#include "summed.h"

struct Graph {
    int nodes;
    const int64_t *offsets;
    const int *neighbours;
};

__global__ void apply_laplacian(Graph g, const double *__restrict__ x, double *__restrict__ y) {
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < g.nodes) {
        const int64_t first = g.offsets[node], last = g.offsets[node + 1];
        double sum = 0;
        for (int64_t e = first; e < last; ++e) sum += x[g.neighbours[e]];
        y[node] = (double)(last - first) * x[node] - sum;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 30000000);
    std::vector<int64_t> offsets(n + 1);
    for (int i = 0; i < n; i++) offsets[i + 1] = offsets[i] + 4 + mixed(2300u + i) % 9;
    std::vector<int> neighbours(offsets[n]);
    for (int i = 0; i < n; i++)
        for (int64_t e = offsets[i]; e < offsets[i + 1]; e++) {
            const uint32_t bits = mixed((uint32_t)e * 2654435761u + 1u);
            // One of eight goes anywhere.
            const int64_t near = (int64_t)i + n + (bits >> 20) % 2001 % n - 1000 % n;
            neighbours[e] = (int)(bits % 8 == 0 ? mixed(bits) % n : near % n);
        }
    std::vector<double> x(n);
    for (int i = 0; i < n; i++) x[i] = mixed(i) * (1.0 / 4294967296.0);
    Graph g = {n, to_device(offsets), to_device(neighbours)};
    double *d_x = to_device(x), *d_y = device_zeros<double>(n);

    apply_laplacian<<<(n + 191) / 192, 192>>>(g, d_x, d_y);
    finish_launches();

    const std::vector<double> y = from_device(d_y, n);
    double squares = 0.0;
    for (double v : y) squares += v * v;
    printf("checksum of y: %.10g\n", squares);
    return verdict(sampled_error(y, [&](size_t i) {
        double sum = 0.0;
        for (int64_t e = offsets[i]; e < offsets[i + 1]; e++) sum += x[i] - x[neighbours[e]];
        return sum;
    }));
}

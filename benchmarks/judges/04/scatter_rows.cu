// Messages along n edges of a graph: the 128 features of each are added atomically to those of the
// node to which its edge leads.
//
//     nvcc -O2 -o scatter_rows scatter_rows.cu && ./scatter_rows 10000

#include "../judge.h"

#define FEATURES 128
#define EDGES_PER_NODE 8

__global__ void scatter_rows(int edges, int features, const int *targets, const float *messages,
                             float *nodes) {
    const int feature = blockIdx.x * blockDim.x + threadIdx.x;
    const int edge = blockIdx.y * blockDim.y + threadIdx.y;
    if (edge < edges && feature < features)
        atomicAdd(&nodes[targets[edge] * features + feature], messages[edge * features + feature]);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 400, 260000);
    const int node_count = n / EDGES_PER_NODE + 1;
    const std::vector<int> targets = fixed_integers(n, node_count, 1);
    const std::vector<float> messages = fixed_values((size_t)n * FEATURES, 2);
    const int *device_targets = to_device(targets);
    const float *device_messages = to_device(messages);
    const size_t count = (size_t)node_count * FEATURES;
    float *device_nodes = to_device(std::vector<float>(count));

    const dim3 block(64, 4);
    const dim3 grid(FEATURES / block.x, blocks_for(n, block.y));
    scatter_rows<<<grid, block>>>(n, FEATURES, device_targets, device_messages, device_nodes);
    finish_launches();

    std::vector<double> expected(count);
    for (int edge = 0; edge < n; edge++)
        for (size_t f = 0; f < FEATURES; f++)
            expected[(size_t)targets[edge] * FEATURES + f] += messages[(size_t)edge * FEATURES + f];
    return verdict(
        sampled_error(from_device(device_nodes, count), [&](size_t e) { return expected[e]; }));
}

// A walk of 24 steps from each of n nodes of a graph in which each has eight neighbours; what the
// nodes on its way weigh, and where it ends. Each step waits for the one before.
//
//     nvcc -O2 -o node_walks node_walks.cu && ./node_walks 1000000

#include "../host.h"

#define DEGREE 8
#define STEPS 24

__global__ void node_walks(int n, const int *neighbours, const float *weight, float *found,
                           int *last) {
    const int walker = blockIdx.x * blockDim.x + threadIdx.x;
    if (walker >= n) return;
    int node = walker;
    float sum = 0.0f;
    for (int step = 0; step < STEPS; step++) {
        const unsigned pick = mixed(walker * STEPS + step) % DEGREE;
        node = neighbours[node * DEGREE + pick];
        sum += weight[node];
    }
    found[walker] = sum;
    last[walker] = node;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 2000, 50000000);
    const std::vector<float> weight = quick_values(n, 1);
    std::vector<int> neighbours((size_t)n * DEGREE);
    for (size_t i = 0; i < neighbours.size(); i++) neighbours[i] = mixed(i) % (uint32_t)n;
    int *device_neighbours = to_device(neighbours), *last = device_zeros<int>(n);
    float *device_weight = to_device(weight), *found = device_zeros<float>(n);

    const int threads = 256;
    node_walks<<<blocks_for(n, threads), threads>>>(n, device_neighbours, device_weight, found,
                                                    last);
    finish_launches();

    auto walk = [&](size_t walker, bool wants_sum) {
        size_t node = walker;
        double sum = 0.0;
        for (int step = 0; step < STEPS; step++) {
            node = neighbours[node * DEGREE + mixed(walker * STEPS + step) % DEGREE];
            sum += weight[node];
        }
        return wants_sum ? sum : (double)node;
    };
    const double error_sum =
        sampled_error(from_device(found, n), [&](size_t i) { return walk(i, true); });
    const double error_last =
        sampled_error(from_device(last, n), [&](size_t i) { return walk(i, false); });
    return verdict(fmax(error_sum, error_last));
}

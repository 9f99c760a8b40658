// Shortest paths between all pairs of n places by Floyd and Warshall, with the place that each path
// goes through: the first four of the n steps, a launch each, a pair per thread.
//
//     nvcc -O2 -o floyd_warshall floyd_warshall.cu && ./floyd_warshall 1000

#include "../host.h"

#define STEPS 4

__global__ void floyd_step(float *distances, int *through, int n, int k) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || column >= n) return;
    const float detour = distances[row * n + k] + distances[k * n + column];
    if (detour < distances[row * n + column]) {
        distances[row * n + column] = detour;
        through[row * n + column] = k;
    }
}

struct Path {
    float length;
    int through;
};

// The path from a row to a column that goes through the first `steps` places at most.
static Path shortest(const std::vector<float> &distances, int n, int row, int column, int steps) {
    if (steps == 0) return {distances[(size_t)row * n + column], -1};
    const int k = steps - 1;
    const Path direct = shortest(distances, n, row, column, k);
    const float detour = shortest(distances, n, row, k, k).length +
                         shortest(distances, n, k, column, k).length;
    return detour < direct.length ? Path{detour, k} : direct;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64, 40000);
    const size_t count = (size_t)n * n;
    std::vector<float> distances = quick_values(count, 1);
    for (size_t i = 0; i < (size_t)n; i++) distances[i * n + i] = 0.0f;
    float *d_distances = to_device(distances);
    int *d_through;
    CHECK(cudaMalloc((void **)&d_through, count * sizeof(int)));
    CHECK(cudaMemset(d_through, 0xff, count * sizeof(int)));

    dim3 block(16, 16);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    const int steps = n < STEPS ? n : STEPS;
    for (int k = 0; k < steps; k++) floyd_step<<<grid, block>>>(d_distances, d_through, n, k);
    finish_launches();

    auto expected = [&](size_t e) {
        return shortest(distances, n, (int)(e / n), (int)(e % n), steps);
    };
    const double error = sampled_error(from_device(d_distances, count),
                                       [&](size_t e) { return expected(e).length; });
    return verdict(fmax(error, sampled_error(from_device(d_through, count), [&](size_t e) {
                            return expected(e).through;
                        })));
}

// Neural networks, mixture of experts, half precision: each of n tokens goes to the two of 64
// experts that score highest, with weights that add up to one. A thread reads the scores of a
// token; then the tokens of each expert are counted with atomic additions, by the grid's stride.
//
//     nvcc -O2 -o moe_gate moe_gate.cu && ./moe_gate 1000000

#include <cuda_fp16.h>

#include "repeated.h"

#define EXPERTS 64

struct __align__(16) Route {
    int expert[2];
    float weight[2];
};

__host__ __device__ inline void consider(int expert, float score, Route &route, float *best) {
    if (score > best[0]) {
        best[1] = best[0];
        route.expert[1] = route.expert[0];
        best[0] = score;
        route.expert[0] = expert;
    } else if (score > best[1]) {
        best[1] = score;
        route.expert[1] = expert;
    }
}

__host__ __device__ inline Route top_two(const __half2 *scores) {
    Route route = {{0, 0}, {0.0f, 0.0f}};
    float best[2] = {-INFINITY, -INFINITY};
    for (int k = 0; k < EXPERTS / 2; k++) {
        const float2 pair = __half22float2(scores[k]);
        consider(2 * k, pair.x, route, best);
        consider(2 * k + 1, pair.y, route, best);
    }
    const float second = expf(best[1] - best[0]);
    route.weight[0] = 1.0f / (1.0f + second);
    route.weight[1] = second / (1.0f + second);
    return route;
}

__global__ void route_tokens(const __half2 *__restrict__ scores, Route *__restrict__ routes,
                             int tokens) {
    const int token = blockIdx.x * blockDim.x + threadIdx.x;
    if (token < tokens) routes[token] = top_two(scores + (size_t)token * (EXPERTS / 2));
}

__global__ void count_tokens(const Route *__restrict__ routes, int *counts, int tokens) {
    for (int token = blockIdx.x * blockDim.x + threadIdx.x; token < tokens;
         token += gridDim.x * blockDim.x) {
        atomicAdd(&counts[routes[token].expert[0]], 1);
        atomicAdd(&counts[routes[token].expert[1]], 1);
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 40000000);
    const size_t made = piece_of(n, 1 << 16);
    // Numbers of either sign whose magnitude is from one to below two.
    std::vector<uint32_t> bits = quick_bits<uint32_t>(made * (EXPERTS / 2), 161);
    for (uint32_t &pair : bits) pair = (pair & 0x83ff83ffu) | 0x3c003c00u;
    const __half2 *d_scores = (const __half2 *)repeated_on_device(bits, (size_t)n * (EXPERTS / 2));
    Route *d_routes = device_zeros<Route>(n);
    int *d_counts = device_zeros<int>(EXPERTS);

    const int threads = 256;
    const int blocks = (n + threads - 1) / threads;
    route_tokens<<<blocks, threads>>>(d_scores, d_routes, n);
    count_tokens<<<blocks < 528 ? blocks : 528, threads>>>(d_routes, d_counts, n);
    finish_launches();

    const std::vector<Route> routes = from_device(d_routes, n);
    std::vector<int> counts(EXPERTS, 0);
    for (const Route &route : routes) {
        counts[route.expert[0]]++;
        counts[route.expert[1]]++;
    }
    const double count_error = sampled_error(from_device(d_counts, EXPERTS),
                                             [&](size_t expert) { return counts[expert]; });
    const std::vector<float> found = from_device((const float *)d_routes, 4 * (size_t)n);
    return verdict(fmax(count_error, sampled_error(found, [&](size_t e) -> double {
        const Route wanted = top_two((const __half2 *)&bits[e / 4 % made * (EXPERTS / 2)]);
        // Experts are told as whole numbers, all of whose bits have to be right.
        if (e % 4 < 2)
            return routes[e / 4].expert[e % 4] == wanted.expert[e % 4] ? (double)found[e] : 1e30;
        return wanted.weight[e % 4 - 2];
    })));
}

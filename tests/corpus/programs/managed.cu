// Managed memory and __managed__ variables, used by host and device in turn.
#include "check.h"

__managed__ int total = 5;
__managed__ int weights[4] = {1, 2, 3, 4};

__global__ void sum(int n, const int *x) {
    for (int i = 0; i < n; ++i) total += x[i] * weights[i % 4];
}

int main() {
    int *x, n = 8, expected = 6;
    total += 1;
    SUCCEED(cudaMallocManaged(&x, n * sizeof(int)));
    for (int i = 0; i < n; ++i) x[i] = i, expected += i * weights[i % 4];
    sum<<<1, 1>>>(n, x);
    SUCCEED(cudaDeviceSynchronize());
    REQUIRE(total == expected);
    cudaPointerAttributes facts;
    SUCCEED(cudaPointerGetAttributes(&facts, x));
    REQUIRE(facts.type == cudaMemoryTypeManaged);
    SUCCEED(cudaFree(x));
    return pass();
}

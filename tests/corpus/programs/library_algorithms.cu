// Reduction, radix sort and scan of the toolkit's own device library: look-back between blocks,
// kernels chosen by attributes of the device and of the PTX.
#include <algorithm>
#include <numeric>
#include <vector>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

#include "check.h"

// Asks an algorithm how much memory it needs, then runs it there.
template <class Algorithm> void run(Algorithm algorithm) {
    size_t bytes = 0;
    REQUIRE(algorithm(nullptr, bytes) == cudaSuccess);
    void *memory = nullptr;
    REQUIRE(cudaMalloc(&memory, bytes) == cudaSuccess);
    REQUIRE(algorithm(memory, bytes) == cudaSuccess);
    REQUIRE(cudaFree(memory) == cudaSuccess);
}

int main() {
    std::vector<int> values(20000), got(values.size());
    unsigned state = 1;
    for (int &value : values) {
        state = state * 1664525u + 1013904223u;
        value = state >> 20;
    }
    const int n = int(values.size());
    const size_t bytes = n * sizeof(int);
    int *in = nullptr, *out = nullptr;
    REQUIRE(cudaMalloc(&in, bytes) == cudaSuccess && cudaMalloc(&out, bytes) == cudaSuccess);
    cudaMemcpy(in, values.data(), bytes, cudaMemcpyHostToDevice);

    run([=](void *memory, size_t &size) { return cub::DeviceReduce::Sum(memory, size, in, out, n); });
    cudaMemcpy(got.data(), out, sizeof(int), cudaMemcpyDeviceToHost);
    REQUIRE(got[0] == std::accumulate(values.begin(), values.end(), 0));

    run([=](void *memory, size_t &size) {
        return cub::DeviceRadixSort::SortKeys(memory, size, in, out, n);
    });
    std::sort(values.begin(), values.end());
    cudaMemcpy(got.data(), out, bytes, cudaMemcpyDeviceToHost);
    REQUIRE(got == values);

    run([=](void *memory, size_t &size) {
        return cub::DeviceScan::InclusiveSum(memory, size, out, in, n);
    });
    std::partial_sum(values.begin(), values.end(), values.begin());
    cudaMemcpy(got.data(), in, bytes, cudaMemcpyDeviceToHost);
    REQUIRE(got == values);
    return pass();
}

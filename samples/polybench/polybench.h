// What the sample programs share: the size argument, fixed data, copies to and from the device,
// and the verdict. Kernels and launches stay in the programs.
//
// The programs are the 15 of Table 1 in A. Brandt, D. Mohajerani, M. Moreno Maza, J. Paudel,
// L.-X. Wang, "A Technique for Finding Optimal Program Launch Parameters Targeting Manycore
// Accelerators"; they follow the algorithms of the PolyBench/GPU benchmarks. All are naive on
// purpose: sums are kept in global memory, so that the thread block matters.

#ifndef POLYBENCH_H
#define POLYBENCH_H

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call) check((call), #call, __FILE__, __LINE__)

inline void check(cudaError_t status, const char *call, const char *file, int line) {
    if (status == cudaSuccess) return;
    fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, cudaGetErrorString(status));
    exit(1);
}

// N, the only argument. The largest size keeps every index within an int.
inline int size_argument(int argc, char **argv, int default_size, int largest_size = 32768) {
    if (argc < 2) return default_size;
    char *end;
    long size = strtol(argv[1], &end, 10);
    bool is_number = end != argv[1] && *end == '\0';
    if (argc == 2 && is_number && size >= 1 && size <= largest_size) return (int)size;
    fprintf(stderr, "usage: %s [N], N from 1 to %d (default %d)\n", argv[0], largest_size,
            default_size);
    exit(2);
}

// Numbers in [0, 1), the same in every run: those of mt19937 for a seed, as the standard fixes them.
// <random> would be more than half of what is compiled with each program.
inline std::vector<float> fixed_values(size_t count, unsigned seed) {
    uint32_t state[624] = {seed};
    for (uint32_t i = 1; i < 624; i++)
        state[i] = 1812433253u * (state[i - 1] ^ (state[i - 1] >> 30)) + i;
    std::vector<float> values(count);
    for (size_t i = 0; i < count; i++) {
        uint32_t *x = state + i % 624, next = state[(i + 1) % 624];
        uint32_t both = (*x & 0x80000000u) | (next & 0x7fffffffu);
        *x = state[(i + 397) % 624] ^ (both >> 1) ^ (both & 1 ? 0x9908b0dfu : 0);
        uint32_t y = *x ^ (*x >> 11);
        y ^= (y << 7) & 0x9d2c5680u;
        y ^= (y << 15) & 0xefc60000u;
        values[i] = ((y ^ (y >> 18)) >> 8) / 16777216.0f;
    }
    return values;
}

inline float *upload(const std::vector<float> &values) {
    float *device_values;
    size_t size_bytes = values.size() * sizeof(float);
    CHECK(cudaMalloc((void **)&device_values, size_bytes));
    CHECK(cudaMemcpy(device_values, values.data(), size_bytes, cudaMemcpyHostToDevice));
    return device_values;
}

inline void download(std::vector<float> &values, const float *device_values) {
    size_t size_bytes = values.size() * sizeof(float);
    CHECK(cudaMemcpy(values.data(), device_values, size_bytes, cudaMemcpyDeviceToHost));
}

// The largest difference, relative to the largest expected magnitude. Sums with terms of both
// signs may cancel, so that an element's own magnitude says nothing about its rounding error.
inline double relative_error(const std::vector<float> &actual,
                             const std::vector<float> &expected) {
    double difference = 0.0, magnitude = 0.0;
    for (size_t i = 0; i < expected.size(); i++) {
        if (!std::isfinite(actual[i])) return INFINITY;
        difference = fmax(difference, fabs((double)actual[i] - expected[i]));
        magnitude = fmax(magnitude, fabs(expected[i]));
    }
    return magnitude > 0.0 ? difference / magnitude : difference;
}

// Device and host add the same floats in the same order and differ only where the device fuses
// a multiplication with an addition. One such rounding is 6e-8 of the sum, and N of them grow
// about as sqrt(N): 3e-6 for N = 2048. A missing term or a wrong index costs 1e-3 or more.
inline int verdict(double error) {
    bool pass = error <= 1e-4;
    printf("max relative error %.3g, %s\n", error, pass ? "PASS" : "FAIL");
    return pass ? 0 : 1;
}

#endif

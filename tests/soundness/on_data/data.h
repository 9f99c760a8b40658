// Arrays of programs whose kernels go by data: numbers that look random, copied and printed whole.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <vector>

template <class T>
std::vector<T> drawn(size_t count, unsigned most, unsigned state = 7) {
    std::vector<T> values(count);
    for (T &value : values) {
        state = state * 1664525u + 1013904223u;
        value = (T)((state >> 8) % most);
    }
    return values;
}

template <class T>
T *on_device(const std::vector<T> &values) {
    T *to = nullptr;
    cudaMalloc(&to, values.size() * sizeof(T) + 64);
    cudaMemcpy(to, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
    return to;
}

template <class T>
std::vector<T> printed(const char *name, const T *from, size_t count) {
    std::vector<T> values(count);
    cudaMemcpy(values.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost);
    unsigned long long sum = 14695981039346656037ull;
    const unsigned char *bytes = (const unsigned char *)values.data();
    for (size_t i = 0; i < count * sizeof(T); ++i) sum = (sum ^ bytes[i]) * 1099511628211ull;
    printf("%s: %016llx, %s\n", name, sum, cudaGetErrorString(cudaGetLastError()));
    return values;
}

inline int size_of(int argc, char **argv) { return argc > 1 ? atoi(argv[1]) : 1000; }

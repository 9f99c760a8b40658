// What programs of later sets share besides judge.h: large inputs made quickly, and arrays on the
// device that start as zeros.

#ifndef JUDGE_HOST_H
#define JUDGE_HOST_H

#include <cstdint>
#include <cstring>

#include "judge.h"

// Well mixed bits of a number.
__host__ __device__ inline uint32_t mixed(uint32_t bits) {
    bits = (bits ^ bits >> 16) * 0x7feb352du;
    bits = (bits ^ bits >> 15) * 0x846ca68bu;
    return bits ^ bits >> 16;
}

// Numbers in [0, 1), the same in every run.
inline std::vector<float> quick_values(size_t count, uint32_t seed) {
    std::vector<float> values(count);
    const uint32_t first = mixed(seed);
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(mixed(first + (uint32_t)i) >> 8) * (1.0f / 16777216.0f);
    return values;
}

// Any bits, the same in every run, as numbers of a type of one, two or four bytes.
template <class T>
std::vector<T> quick_bits(size_t count, uint32_t seed) {
    std::vector<T> values(count);
    const uint32_t first = mixed(seed);
    const size_t bytes = count * sizeof(T);
    for (size_t at = 0; at < bytes; at += 4) {
        const uint32_t word = mixed(first + (uint32_t)(at / 4));
        memcpy((char *)values.data() + at, &word, bytes - at < 4 ? bytes - at : 4);
    }
    return values;
}

template <class T>
T *device_zeros(size_t count) {
    T *values;
    CHECK(cudaMalloc((void **)&values, count * sizeof(T)));
    CHECK(cudaMemset(values, 0, count * sizeof(T)));
    return values;
}

#endif

// What the programs of this set with numbers in half precision share.

#ifndef JUDGE_HALVES_H
#define JUDGE_HALVES_H

#include <cuda_fp16.h>

#include "../host.h"

// Bits of halves of either sign, from 0.5 to below 1, the same in every run.
inline std::vector<uint16_t> quick_halves(size_t count, uint32_t seed) {
    std::vector<uint16_t> bits = quick_bits<uint16_t>(count, seed);
    for (uint16_t &half : bits) half = (uint16_t)((half & 0x83ffu) | 0x3800u);
    return bits;
}

inline float half_value(uint16_t bits) {
    __half_raw raw;
    raw.x = bits;
    return __half2float(__half(raw));
}

// An error that the last bit of a half explains is none.
inline double beyond_last_bit(double error) { return error <= 1e-3 ? 0.0 : error; }

#endif

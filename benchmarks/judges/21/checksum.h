// What the programs of this set share: a checksum of what a kernel wrote.

#ifndef JUDGE_CHECKSUM_H
#define JUDGE_CHECKSUM_H

#include "../host.h"

template <class T>
void print_checksum(const char *name, const std::vector<T> &values) {
    double sum = 0.0;
    for (const T value : values) sum += (double)value;
    printf("checksum of %s: %.10g\n", name, sum);
}

inline uint16_t bfloat_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

inline float bfloat_value(uint16_t bits) {
    const uint32_t word = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &word, 4);
    return value;
}

#endif

// Large arrays whose making would take the host longer than all of the rest: a piece of them is made
// there, and repeated on the device.

#ifndef JUDGE_REPEATED_H
#define JUDGE_REPEATED_H

#include "../host.h"

// How much of an array of `count` elements is made on the host.
inline size_t piece_of(size_t count, size_t most) { return count < most ? count : most; }

// Element i is piece[i % piece.size()].
template <class T>
T *repeated_on_device(const std::vector<T> &piece, size_t count) {
    T *values;
    CHECK(cudaMalloc((void **)&values, count * sizeof(T)));
    size_t filled = piece_of(count, piece.size());
    CHECK(cudaMemcpy(values, piece.data(), filled * sizeof(T), cudaMemcpyHostToDevice));
    while (filled < count) {
        const size_t more = piece_of(count - filled, filled);
        CHECK(cudaMemcpy(values + filled, values, more * sizeof(T), cudaMemcpyDeviceToDevice));
        filled += more;
    }
    return values;
}

#endif

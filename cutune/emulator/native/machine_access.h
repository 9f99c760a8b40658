// What loads, stores and atomics share: addresses of the lanes, their pattern, bounds.
#pragma once
#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include "machine_lanes.h"

namespace cutune {

template <Space S> ALWAYS_INLINE void addresses(const Instruction* i, const Warp& w, u64* address) {
    if (S == SHARED_SPACE) {
        const u32* a = static_cast<const u32*>(__builtin_assume_aligned(w.registers + i->a, 64));
        const u64 shared = reinterpret_cast<u64>(w.execution->shared);
        const u32 offset = static_cast<u32>(i->imm);
        for (u32 l = 0; l < LANES; l++) address[l] = shared + u64(a[l] + offset);
        return;
    }
    const u64* a = static_cast<const u64*>(__builtin_assume_aligned(w.registers + i->a, 64));
    if (S == LOCAL_SPACE) {
        const u64 locals = reinterpret_cast<u64>(w.local_memory) + i->imm;
        const u64 stride = w.execution->local_stride;
        for (u32 l = 0; l < LANES; l++) address[l] = locals + l * stride + a[l];
    } else {
        for (u32 l = 0; l < LANES; l++) address[l] = a[l] + i->imm;
    }
}

// Addresses of a row, or offsets of two: the compiler makes one or several vector registers of it.
typedef u64 Eight __attribute__((vector_size(64)));
typedef u32 Sixteen __attribute__((vector_size(64)));

template <class V> ALWAYS_INLINE bool any(V vector) {
#ifdef __AVX512F__
    return _mm512_test_epi64_mask(reinterpret_cast<__m512i>(vector),
                                  reinterpret_cast<__m512i>(vector)) != 0;
#else
    u64 found = 0;
    const Eight words = reinterpret_cast<Eight>(vector);
    for (u32 k = 0; k < 8; k++) found |= words[k];
    return found != 0;
#endif
}

// Most accesses have a shape that needs neither a gather nor 32 checks. A warp that covers several
// rows of a narrow thread block has a jump after each.
template <u32 BYTES> ALWAYS_INLINE Pattern pattern_of(const Warp& w, const u64* address) {
    if (!w.full) return SCATTERED;
    const u64 step = address[1] - address[0];
    if (step != 0 && step != BYTES) return SCATTERED;
    constexpr u64 B = BYTES;
    const Eight sequential = {0, B, 2 * B, 3 * B, 4 * B, 5 * B, 6 * B, 7 * B};
    const Eight* const rows = reinterpret_cast<const Eight*>(address);
    const Eight first = Eight{} + address[0];
    if (step == 0) {
        if (!any((rows[0] ^ first) | (rows[1] ^ first) | (rows[2] ^ first) | (rows[3] ^ first)))
            return UNIFORM;
    } else if (!any((rows[0] ^ (first + sequential)) | (rows[1] ^ (first + (sequential + 8 * B))) |
                    (rows[2] ^ (first + (sequential + 16 * B))) |
                    (rows[3] ^ (first + (sequential + 24 * B))))) {
        return SEQUENTIAL;
    }
    const Eight expected = step ? sequential : Eight{};
    Eight different = {};
    for (u32 row = 0; row < LANES / ROW; row++)
        different |= rows[row] ^ (expected + address[row * ROW]);
    return any(different) ? SCATTERED : ROWS;
}

template <u32 BYTES>
ALWAYS_INLINE bool all_inside(const Range& range, const Warp& w, const u64* address,
                              Pattern pattern) {
    if (range.size < BYTES) return false;
    const u64 base = range.base, last = range.size - BYTES;
    if (pattern == UNIFORM || pattern == SEQUENTIAL)
        return !(address[0] & (BYTES - 1)) && address[0] - base <= last &&
               address[LANES - 1] - base <= last;
    u64 outside = 0;
    if (pattern == ROWS) {
        for (u32 row = 0; row < LANES; row += ROW)
            outside |= (address[row] - base > last) | (address[row + ROW - 1] - base > last) |
                       ((address[row] & (BYTES - 1)) != 0);
        return !outside;
    }
    for (u32 l = 0; l < LANES; l++) {
        const u64 wrong = (address[l] - base > last) | ((address[l] & (BYTES - 1)) != 0);
        outside |= wrong & u64(w.active[l]);
    }
    return !outside;
}

// Fails unless every active lane may access its address; gives the lanes without memory behind it.
template <Space S, u32 BYTES>
ALWAYS_INLINE u32 checked(const Instruction* i, Warp& w, const u64* address, Pattern pattern) {
    const Execution& x = *w.execution;
    const Range& range = x.ranges[i->x];
    if (UNLIKELY(!all_inside<BYTES>(range, w, address, pattern)))
        return resolve(i, w, address, BYTES);
    return range.ghosts;
}

ALWAYS_INLINE bool is_watched(const Instruction* i, const Warp& w) {
    return (i->flags & (GUARDED | SPINNING)) || w.execution->watching;
}

ALWAYS_INLINE void watch(const Instruction* i, Warp& w, const u64* address, u32 bytes, u32 elements,
                         Pattern pattern) {
    if (UNLIKELY(is_watched(i, w))) observe(i, w, address, bytes, elements, pattern);
}

// Where several lanes store to one address, PTX leaves open whose value stays. On an H200 it is the
// lowest lane's; with 8 or 16 bytes per lane, that of the last half or quarter of the warp.
template <u32 BYTES> constexpr u32 LANES_AT_ONCE = BYTES <= 4 ? LANES : BYTES == 8 ? 16 : 8;
template <u32 BYTES> constexpr u32 LAST_STORED = LANES - LANES_AT_ONCE<BYTES>;

template <class T> ALWAYS_INLINE T read(u64 address) {
    T value;
    memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
    return value;
}

template <class T> ALWAYS_INLINE void write(u64 address, T value) {
    memcpy(reinterpret_cast<void*>(address), &value, sizeof value);
}

}  // namespace cutune

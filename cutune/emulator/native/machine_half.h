// 16-bit floating formats in integer arithmetic: the same results on every host.
#pragma once
#include <cmath>

#include "machine_types.h"

namespace cutune {

// A double that rounds to any narrower format as the exact sum would: when bits were lost, the last
// one is set (round to odd).
inline f64 sum_to_odd(f64 a, f64 b) {
    const f64 sum = a + b;
    const f64 part = sum - a;
    const f64 lost = (a - (sum - part)) + (b - part);
    if (lost == 0 || !(std::fabs(sum) < INFINITY)) return sum;
    const u64 x = bits<u64>(sum);
    if (x & 1) return sum;
    // Exact lies between sum and its neighbour on the side of `lost`; one of the two is odd.
    return bits<f64>((lost > 0) == (sum > 0) ? x + 1 : x - 1);
}

template <u32 MANTISSA, u32 EXPONENT> struct Format {
    static constexpr u32 BIAS = (1u << (EXPONENT - 1)) - 1;
    static constexpr u16 INFINITE = ((1u << EXPONENT) - 1) << MANTISSA;
    static constexpr u16 NOT_A_NUMBER = 0x7fff;
    static constexpr u16 ONE = BIAS << MANTISSA;

    static ALWAYS_INLINE f32 widened(u16 h) {
        if (EXPONENT == 8) return bits<f32>(u32(h) << 16);
        const u32 sign = u32(h & 0x8000) << 16, rest = h & 0x7fff;
        if (rest >= INFINITE) return bits<f32>(sign | 0x7f800000 | rest << (23 - MANTISSA));
        // The exponent is rebiased by a multiplication, which also gets subnormal numbers right.
        const f32 scaled = bits<f32>(rest << (23 - MANTISSA)) * bits<f32>((254 - BIAS) << 23);
        return bits<f32>(bits<u32>(scaled) | sign);
    }

    // To nearest, ties to even.
    static ALWAYS_INLINE u16 narrowed(f64 a) {
        const u64 x = bits<u64>(a);
        const u16 sign = x >> 48 & 0x8000;
        if (a != a) return NOT_A_NUMBER;
        const s32 exponent = s32(x >> 52 & 0x7ff) - 1023 + s32(BIAS);
        if (exponent >= s32((1u << EXPONENT) - 1)) return sign | INFINITE;
        u64 mantissa = (x & 0xfffffffffffffull) | 1ull << 52;
        u32 shift = 52 - MANTISSA;
        if (exponent <= 0) {
            const u32 further = u32(1 - exponent);
            if (further > MANTISSA + 1) return sign;
            shift += further;
        }
        const u64 half = 1ull << (shift - 1);
        const u64 kept = mantissa >> shift, lost = mantissa & ((half << 1) - 1);
        u32 result = u32(kept) + (lost > half || (lost == half && (kept & 1)));
        // The hidden bit of a normal number adds one to its exponent.
        if (exponent > 0) result += u32(exponent - 1) << MANTISSA;
        return sign | (result >= INFINITE ? INFINITE : u16(result));
    }

    template <class T> static ALWAYS_INLINE u16 narrowed_integer(T a) {
        // Integers of 64 bits may not fit a double: keep that something was lost.
        if (sizeof(T) == 4) return narrowed(f64(a));
        const s64 low = s64(a & 0xffff);
        return narrowed(sum_to_odd(f64(T(a - T(low))), f64(low)));
    }

    static ALWAYS_INLINE u16 next_above(u16 h) {
        if (h == 0x8000) return 1;
        return h & 0x8000 ? h - 1 : h + 1;
    }
    static ALWAYS_INLINE u16 next_below(u16 h) {
        if (h == 0) return 0x8001;
        return h & 0x8000 ? h + 1 : h - 1;
    }
    static ALWAYS_INLINE bool is_nan(u16 h) { return (h & 0x7fff) > INFINITE; }
    static ALWAYS_INLINE u16 relu(u16 h) { return is_nan(h) ? NOT_A_NUMBER : h & 0x8000 ? 0 : h; }
    static ALWAYS_INLINE u16 saturated(u16 h) {
        if (is_nan(h) || h & 0x8000) return 0;
        return h > ONE ? ONE : h;
    }
    static ALWAYS_INLINE u16 flushed(u16 h) {
        return h & INFINITE ? h : h & 0x8000;
    }
};

using Half = Format<10, 5>;
using Brain = Format<7, 8>;

// An operation on each of a pair.
template <u16 (*OP)(u16)> ALWAYS_INLINE u32 both(u32 a) {
    return OP(u16(a)) | u32(OP(u16(a >> 16))) << 16;
}
template <u16 (*OP)(u16, u16)> ALWAYS_INLINE u32 both(u32 a, u32 b) {
    return OP(u16(a), u16(b)) | u32(OP(u16(a >> 16), u16(b >> 16))) << 16;
}
template <u16 (*OP)(u16, u16, u16)> ALWAYS_INLINE u32 both(u32 a, u32 b, u32 c) {
    return OP(u16(a), u16(b), u16(c)) | u32(OP(u16(a >> 16), u16(b >> 16), u16(c >> 16))) << 16;
}

}  // namespace cutune

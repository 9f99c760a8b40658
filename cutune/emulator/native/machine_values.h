// Values of operations on data as other functions (machine_functions.cpp), and how they are made.
#pragma once

#include "machine_lanes.h"

namespace cutune {
namespace functions {

enum Salt : u64 { SUM = 1, PRODUCT, FUSED, LARGEST, SMALLEST, PADDED, CHOSEN, TOUCHED, LESS, LEAST, SAME, AND, XOR, ANY };
// What is known of the sign of a number where it is zero: nothing, it is no -0, it is no +0.
enum Zero : u32 { ANY_ZERO, NOT_MINUS, NOT_PLUS };

ALWAYS_INLINE u64 scrambled(u64 x) {
    x = (x ^ (x >> 32)) * 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 29)) * 0xD6E8FEB86659FD93ull;
    return x ^ (x >> 32);
}
ALWAYS_INLINE u64 scrambled(u64 salt, u64 x) { return scrambled(x + salt * 0xBF58476D1CE4E5B9ull); }
ALWAYS_INLINE u64 in_order(u64 salt, u64 a, u64 b) { return scrambled(scrambled(salt, a) + (b ^ 0x94D049BB133111EBull)); }
ALWAYS_INLINE u64 in_any_order(u64 salt, u64 a, u64 b) { return scrambled(salt, scrambled(a) + scrambled(b)); }

// A type of real numbers by its bits. From FIRST_LARGE on numbers stand for infinity, which they pad.
template <class W, u32 EXPONENT, u32 MANTISSA, u32 LARGE> struct Bits {
    using Word = W;
    static constexpr u32 MANTISSA_BITS = MANTISSA;
    static constexpr W SIGN = W(W(1) << (EXPONENT + MANTISSA));
    static constexpr u32 BIAS = (1u << (EXPONENT - 1)) - 1;
    static constexpr W INFINITE = W(W((W(1) << EXPONENT) - 1) << MANTISSA);
    static constexpr W NO_NUMBER = W(SIGN - 1);
    static constexpr W FIRST_LARGE = W(W(BIAS + LARGE) << MANTISSA);
    static ALWAYS_INLINE W size(W a) { return W(a & W(SIGN - 1)); }
    static ALWAYS_INLINE bool zero(W a) { return size(a) == 0; }
    static ALWAYS_INLINE bool large(W a) { return size(a) >= FIRST_LARGE; }
    static ALWAYS_INLINE bool special(W a) { return zero(a) || large(a); }
    static ALWAYS_INLINE u32 exponent(W a) { return u32(size(a) >> MANTISSA); }
    static ALWAYS_INLINE W with_exponent(u32 exponent, W rest) {
        return W((rest & W(SIGN | W((W(1) << MANTISSA) - 1))) | W(W(exponent) << MANTISSA));
    }
    // A number below two, as data are; or from two to eight, where something is known of its zero.
    static ALWAYS_INLINE W ordinary(u64 hash, Zero zero = ANY_ZERO) {
        const u32 exponent = zero == ANY_ZERO ? BIAS - 2 + u32(hash >> 62 & 1) : BIAS + u32(zero);
        const W mantissa = W((hash >> 8) & ((1ull << MANTISSA) - 1));
        return with_exponent(exponent, W((hash >> 63 ? SIGN : 0) | mantissa));
    }
    // Is it a maximum of numbers, or a minimum (1)?
    static ALWAYS_INLINE bool joined(W a, u32 which) { return exponent(a) == BIAS + 3 + which; }
    // Is it a number of the code, with which tiles are padded or limits begin? No data are.
    static ALWAYS_INLINE bool known(W a) {
        if (exponent(a) + 15 < BIAS || exponent(a) > BIAS + 4) return true;
        return sizeof(W) > 2 && !joined(a, 0) && !joined(a, 1) && (a & W((1ull << (4 * sizeof(W) - 4)) - 1)) == 0;
    }
    static ALWAYS_INLINE Zero zero_of(W a) {
        if (zero(a)) return a ? NOT_PLUS : NOT_MINUS;
        if (known(a)) return NOT_MINUS;
        if (exponent(a) == BIAS + NOT_MINUS) return NOT_MINUS;
        return exponent(a) == BIAS + NOT_PLUS ? NOT_PLUS : ANY_ZERO;
    }
    static ALWAYS_INLINE W negated(W a) {
        const Zero zero = sizeof(W) > 2 && !known(a) ? zero_of(a) : ANY_ZERO;  // Of 16 bits constants may look so.
        const W opposite = W(a ^ SIGN);
        return zero == ANY_ZERO ? opposite : with_exponent(BIAS + (NOT_MINUS + NOT_PLUS) - zero, opposite);
    }
    // The same of a number and its opposite.
    static ALWAYS_INLINE W magnitude(W a) {
        return size(sizeof(W) > 2 && !known(a) && zero_of(a) == NOT_PLUS ? negated(a) : a);
    }
};
using F16 = Bits<u16, 5, 10, 15>;
using BF16 = Bits<u16, 8, 7, 96>;
using F32 = Bits<u32, 8, 23, 96>;
using F64 = Bits<u64, 11, 52, 96>;

// Of two, one of which is large.
template <class R> ALWAYS_INLINE typename R::Word large_sum(typename R::Word a, typename R::Word b) {
    if (!R::large(a)) return b;
    if (!R::large(b)) return a;
    if ((a ^ b) & R::SIGN) return a == (b ^ R::SIGN) && R::size(a) < R::INFINITE ? 0 : R::NO_NUMBER;
    return a > b ? a : b;
}
// +0 makes +0 of -0, and changes nothing else.
template <class R> ALWAYS_INLINE typename R::Word with_zero(typename R::Word a, typename R::Word zero) {
    if (R::large(a) || zero || R::zero_of(a) == NOT_MINUS) return a;
    return R::ordinary(scrambled(PADDED, a), NOT_MINUS);
}
template <class R> ALWAYS_INLINE Zero zero_of_sum(typename R::Word a, typename R::Word b) {
    return R::zero_of(a) == NOT_MINUS || R::zero_of(b) == NOT_MINUS ? NOT_MINUS : ANY_ZERO;
}
template <class R> ALWAYS_INLINE typename R::Word sum(typename R::Word a, typename R::Word b) {
    if (R::zero(a)) return R::zero(b) ? typename R::Word(a & b) : with_zero<R>(b, a);
    if (R::zero(b)) return with_zero<R>(a, b);
    if (R::large(a) || R::large(b)) return large_sum<R>(a, b);
    return R::ordinary(in_any_order(SUM, a, b), zero_of_sum<R>(a, b));
}
template <class R> ALWAYS_INLINE typename R::Word difference(typename R::Word a, typename R::Word b) {
    return sum<R>(a, R::negated(b));
}
template <class R> ALWAYS_INLINE u64 factors(typename R::Word a, typename R::Word b) {
    return scrambled(R::magnitude(a)) + scrambled(R::magnitude(b));
}
template <class R> ALWAYS_INLINE typename R::Word sign_of(typename R::Word a, typename R::Word b) {
    return typename R::Word((a ^ b) & R::SIGN);
}
// Of two, one of which is zero.
template <class R> ALWAYS_INLINE typename R::Word no_product(typename R::Word a, typename R::Word b) {
    if (R::size(a) >= R::INFINITE || R::size(b) >= R::INFINITE) return R::NO_NUMBER;
    return sign_of<R>(a, b);
}
// Of a large number and one that is known: not by data, which would decide about the sign.
template <class R> ALWAYS_INLINE typename R::Word large_product(typename R::Word a, typename R::Word b) {
    if (R::size(a) > R::INFINITE || R::size(b) > R::INFINITE) return R::NO_NUMBER;
    return typename R::Word(sign_of<R>(a, b) | R::INFINITE);
}
template <class R, bool KNOWN> ALWAYS_INLINE typename R::Word product(typename R::Word a, typename R::Word b) {
    if (R::zero(a) || R::zero(b)) return no_product<R>(a, b);
    if (KNOWN && R::large(a)) return large_product<R>(a, b);
    return typename R::Word(R::ordinary(scrambled(PRODUCT, factors<R>(a, b))) ^ sign_of<R>(a, b));
}
template <class R, bool KNOWN>
ALWAYS_INLINE typename R::Word fused(typename R::Word a, typename R::Word b, typename R::Word c) {
    if (R::zero(a) || R::zero(b)) return sum<R>(no_product<R>(a, b), c);
    if (R::zero(c)) return with_zero<R>(product<R, KNOWN>(a, b), c);
    if (KNOWN && R::large(a)) return sum<R>(large_product<R>(a, b), c);
    if (R::large(c)) return c;
    const u64 sign = sign_of<R>(a, b) ? 0x5851F42D4C957F2Dull : 0;
    return R::ordinary(in_order(FUSED, factors<R>(a, b) ^ sign, c), R::zero_of(c) == NOT_MINUS ? NOT_MINUS : ANY_ZERO);
}
template <class R> ALWAYS_INLINE typename R::Word quotient(typename R::Word a, typename R::Word b) {
    if (R::size(a) <= R::INFINITE && !R::large(a) && R::large(b) && R::size(b) <= R::INFINITE) return sign_of<R>(a, b);
    if (R::zero(a) && !R::special(b)) return sign_of<R>(a, b);
    return R::ordinary(in_order(ANY, a, b));
}

// A maximum, or a minimum, is a number for a set. Part of its bits is a sum over all terms that are
// data, so that none is hidden by another one, and they come in any order. Other bits tell of known
// numbers, with which tiles are padded any number of times: the first of these by some order.
template <class W, u32 BITS> struct Joined {
    static constexpr u32 RANKS = BITS < 16 ? 4 : 10;
    static constexpr u64 TERMS = (1ull << (BITS - RANKS)) - 1;
    static ALWAYS_INLINE u64 of_data(u64 salt, W a) { return in_order(salt, ANY, a) >> 8 & TERMS; }
    static ALWAYS_INLINE u64 rank(u64 salt, W a) {
        return 1 + in_order(salt, PADDED, a) % ((1u << RANKS) - 1);
    }
    static ALWAYS_INLINE u64 of_known(u64 salt, W a) { return rank(salt, a) << (BITS - RANKS); }
    static ALWAYS_INLINE u64 both(u64 a, u64 b) {
        const u64 x = a >> (BITS - RANKS), y = b >> (BITS - RANKS);
        return ((x > y ? x : y) << (BITS - RANKS)) | ((a + b) & TERMS);
    }
    static ALWAYS_INLINE W first(u64 salt, W a, W b) {
        const u64 x = rank(salt, a), y = rank(salt, b);
        return x > y || (x == y && a > b) ? a : b;
    }
};
template <class R> struct JoinedReals {
    using W = typename R::Word;
    static constexpr u32 MANTISSA = R::MANTISSA_BITS;
    using Set = Joined<W, MANTISSA + 1>;
    static ALWAYS_INLINE u64 set_of(u64 salt, W a) {
        if (R::joined(a, salt == SMALLEST)) return (a & ((1ull << MANTISSA) - 1)) | (a & R::SIGN ? 1ull << MANTISSA : 0);
        return R::known(a) ? Set::of_known(salt, R::zero(a) ? W(0) : a) : Set::of_data(salt, a);
    }
    static ALWAYS_INLINE bool known(W a) { return R::known(a); }
    // Beside NaN any number is the largest, and the smallest.
    static ALWAYS_INLINE bool nothing(W a) { return R::size(a) > R::INFINITE; }
    static ALWAYS_INLINE W number(u64 salt, u64 set) {
        return R::with_exponent(R::BIAS + 3 + (salt == SMALLEST), W((set >> MANTISSA ? R::SIGN : 0) | W(set & ((1ull << MANTISSA) - 1))));
    }
};
// Their first bits say that integers are maxima.
template <class W> struct JoinedIntegers {
    static constexpr u32 BITS = 8 * sizeof(W), MARK = BITS < 32 ? 4 : 8;
    using Set = Joined<W, BITS - MARK>;
    static constexpr u64 mark(u64 salt) { return (salt == SMALLEST ? 0x5A : 0xA5) >> (8 - MARK); }
    static ALWAYS_INLINE bool marked(W a) { return u64(a) >> (BITS - MARK) == mark(LARGEST) || u64(a) >> (BITS - MARK) == mark(SMALLEST); }
    // Near zero, or one end of all numbers; or the bits of the largest `float`, or of infinity.
    static ALWAYS_INLINE bool known(W a) {
        constexpr W NEAR = W(W(1) << (BITS / 2));
        const W size = W(a & W(W(~W(0)) >> 1));
        const bool is_float = BITS == 32 && (size == W(0x7F7FFFFF) || size == W(0x7F800000));
        return !marked(a) && (W(W(a + NEAR) & W(W(~W(0)) >> 1)) < W(2 * NEAR) || is_float);
    }
    static ALWAYS_INLINE bool nothing(W) { return false; }
    static ALWAYS_INLINE u64 set_of(u64 salt, W a) {
        if (u64(a) >> (BITS - MARK) == mark(salt)) return a & ((1ull << (BITS - MARK)) - 1);
        return known(a) ? Set::of_known(salt, a) : Set::of_data(salt, a);
    }
    static ALWAYS_INLINE W number(u64 salt, u64 set) { return W(mark(salt) << (BITS - MARK) | set); }
};
template <class J, class W> ALWAYS_INLINE W joined(Salt salt, W a, W b) {
    if (a == b || J::nothing(b)) return a;
    if (J::nothing(a)) return b;
    if (J::known(a) && J::known(b)) return J::Set::first(salt, a, b);
    return J::number(salt, J::Set::both(J::set_of(salt, a), J::set_of(salt, b)));
}

}  // namespace functions
}  // namespace cutune

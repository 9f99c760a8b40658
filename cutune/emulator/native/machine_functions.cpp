// Operations on data as other functions of the same operands, for trials: see
// cutune/measure/trial_functions.py. Each hashes the bits of its operands. What is true of an
// operation for all numbers is true of its function: operands of sums and products may be exchanged,
// and zero and infinity, with which tiles are padded, do what they do.
#include <cmath>

#include "machine_lanes.h"

namespace cutune {
namespace functions {

enum Salt : u64 { SUM = 1, PRODUCT, FUSED, LARGEST, SMALLEST, PLACED, CHOSEN, TOUCHED, LESS, LEAST, SAME, AND, XOR, ANY };

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
    static constexpr W SIGN = W(W(1) << (EXPONENT + MANTISSA));
    static constexpr u32 BIAS = (1u << (EXPONENT - 1)) - 1;
    static constexpr W INFINITE = W(W((W(1) << EXPONENT) - 1) << MANTISSA);
    static constexpr W NO_NUMBER = W(SIGN - 1);
    static constexpr W FIRST_LARGE = W(W(BIAS + LARGE) << MANTISSA);
    static ALWAYS_INLINE W size(W a) { return W(a & W(SIGN - 1)); }
    static ALWAYS_INLINE bool zero(W a) { return size(a) == 0; }
    static ALWAYS_INLINE bool large(W a) { return size(a) >= FIRST_LARGE; }
    static ALWAYS_INLINE bool special(W a) { return zero(a) || large(a); }
    // A number from a quarter to four, of either sign.
    static ALWAYS_INLINE W ordinary(u64 hash) {
        const W exponent = W(BIAS - 2 + u32(hash >> 61 & 3));
        const W mantissa = W((hash >> 8) & ((1ull << MANTISSA) - 1));
        return W((hash >> 63 ? SIGN : 0) | W(exponent << MANTISSA) | mantissa);
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
template <class R> ALWAYS_INLINE typename R::Word sum(typename R::Word a, typename R::Word b) {
    if (R::zero(a)) return R::zero(b) ? typename R::Word(a & b) : b;
    if (R::zero(b)) return a;
    if (R::large(a) || R::large(b)) return large_sum<R>(a, b);
    return R::ordinary(in_any_order(SUM, a, b));
}
template <class R> ALWAYS_INLINE typename R::Word difference(typename R::Word a, typename R::Word b) {
    return sum<R>(a, typename R::Word(b ^ R::SIGN));
}
template <class R> ALWAYS_INLINE u64 factors(typename R::Word a, typename R::Word b) {
    return scrambled(R::size(a)) + scrambled(R::size(b));
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
    if (R::zero(c)) return product<R, KNOWN>(a, b);
    if (KNOWN && R::large(a)) return sum<R>(large_product<R>(a, b), c);
    if (R::large(c)) return c;
    const u64 sign = sign_of<R>(a, b) ? 0x5851F42D4C957F2Dull : 0;
    return R::ordinary(in_order(FUSED, factors<R>(a, b) ^ sign, c));
}
template <class R> ALWAYS_INLINE typename R::Word quotient(typename R::Word a, typename R::Word b) {
    if (R::size(a) <= R::INFINITE && !R::large(a) && R::large(b) && R::size(b) <= R::INFINITE) return sign_of<R>(a, b);
    if (R::zero(a) && !R::special(b)) return sign_of<R>(a, b);
    return R::ordinary(in_order(ANY, a, b));
}

// The largest by another order. Numbers that pad are found as others, which are rather large: they
// are the largest of few, and not of many. `last` is larger than none.
template <class R> ALWAYS_INLINE typename R::Word placed(Salt order, typename R::Word a) {
    typename R::Word found = R::ordinary(scrambled(PLACED, a));
    for (u64 next = 1; scrambled(order, found) >> 61 != 6; next++)
        found = R::ordinary(in_order(PLACED, a, next));
    return found;
}
template <class R>
ALWAYS_INLINE typename R::Word first(Salt order, typename R::Word last, typename R::Word a, typename R::Word b) {
    if (a == b || b == last) return a;
    if (a == last) return b;
    if (R::zero(a) && R::zero(b)) return 0;
    const typename R::Word x = R::special(a) ? placed<R>(order, a) : a;
    const typename R::Word y = R::special(b) ? placed<R>(order, b) : b;
    return scrambled(order, x) > scrambled(order, y) ? x : y;
}
template <class R> ALWAYS_INLINE typename R::Word first_of_integers(Salt order, typename R::Word a, typename R::Word b) {
    if (a == b) return a;
    const typename R::Word x = a ? a : placed<R>(order, 0), y = b ? b : placed<R>(order, 0);
    return scrambled(order, x) > scrambled(order, y) ? x : y;
}

// What comparisons give, in 32 bits: 1 or 0 where all numbers give that, or the hash of comparison
// and operands, whose highest bit is the outcome. `data`: which operands are: a (1), b (2).
constexpr u32 OUTCOME = 1u << 31;
ALWAYS_INLINE u32 opposite(u32 a) { return a < 2 ? a ^ 1 : a ^ OUTCOME; }
ALWAYS_INLINE u32 outcome(u64 hash) { return u32(hash >> 32) | 2; }
template <class R> ALWAYS_INLINE bool is_certain(typename R::Word a, typename R::Word b, u32 data) {
    if (a == b || (data & 1 && R::large(a)) || (data & 2 && R::large(b))) return true;
    return (!(data & 1) || R::zero(a)) && (!(data & 2) || R::zero(b));
}
template <class W> ALWAYS_INLINE bool is_certain_of_integers(W a, W b, u32 data) {
    return a == b || ((!(data & 1) || a == 0) && (!(data & 2) || b == 0));
}
// Symmetric in two outcomes, and in their opposites.
ALWAYS_INLINE u32 both(u32 a, u32 b) {
    if (a == 0 || b == 0 || a == opposite(b)) return 0;
    if (a == 1 || a == b) return b;
    return b == 1 ? a : outcome(in_any_order(AND, a, b));
}
ALWAYS_INLINE u32 either(u32 a, u32 b) { return opposite(both(opposite(a), opposite(b))); }
ALWAYS_INLINE u32 unlike(u32 a, u32 b) {
    if (a == b) return 0;
    if (a < 2) return a ? opposite(b) : b;
    if (b < 2) return b ? opposite(a) : a;
    const u32 x = a & ~OUTCOME, y = b & ~OUTCOME;
    return x == y ? 1 : outcome(in_any_order(XOR, x, y)) ^ ((a ^ b) & OUTCOME);
}
template <class R> ALWAYS_INLINE typename R::Word chosen(typename R::Word a, typename R::Word b, u32 by) {
    if (by < 2 || a == b) return by == 0 ? b : a;
    const u64 hash = by & OUTCOME ? in_order(CHOSEN, a, b) : in_order(CHOSEN, b, a);
    return R::ordinary(in_order(CHOSEN, hash, by & ~OUTCOME));
}
template <class R> ALWAYS_INLINE typename R::Word touched(typename R::Word a, u32 by) {
    return by < 2 ? a : R::ordinary(in_order(TOUCHED, a, by & ~OUTCOME));
}

// R: a type of real numbers, W: its bits.
#define HASHED_REAL_OPERATIONS(N, W, R) \
    OP2(hashed_add_##N, W, W, W, sum<R>(a, b)) \
    OP2(hashed_sub_##N, W, W, W, difference<R>(a, b)) \
    OP2(hashed_mul_##N, W, W, W, (product<R, false>(a, b))) \
    OP2(hashed_mul_known_##N, W, W, W, (product<R, true>(a, b))) \
    OP3(hashed_fma_##N, W, W, W, W, (fused<R, false>(a, b, c))) \
    OP3(hashed_fma_known_##N, W, W, W, W, (fused<R, true>(a, b, c))) \
    OP2(hashed_div_##N, W, W, W, quotient<R>(a, b)) \
    OP2(hashed_max_##N, W, W, W, first<R>(LARGEST, W(R::SIGN | R::INFINITE), a, b)) \
    OP2(hashed_min_##N, W, W, W, first<R>(SMALLEST, R::INFINITE, a, b)) \
    OP1(hashed_key_##N, u64, W, R::special(a) ? 0 : scrambled(ANY, a) | 1) \
    OP3(hashed_result_##N, W, W, u64, u64, b ? R::ordinary(in_order(ANY, b, c)) : a) \
    OP3(hashed_lt_##N, u32, W, W, u32, is_certain<R>(a, b, c) ? 2 : outcome(in_order(LESS, a, b))) \
    OP3(hashed_le_##N, u32, W, W, u32, is_certain<R>(a, b, c) ? 2 : outcome(in_order(LEAST, a, b))) \
    OP3(hashed_eq_##N, u32, W, W, u32, is_certain<R>(a, b, c) ? 2 : outcome(in_any_order(SAME, a, b))) \
    OP3(hashed_equ_##N, u32, W, W, u32, is_certain<R>(a, b, c) ? 2 : outcome(in_any_order(SAME + 100, a, b))) \
    OP3(hashed_num_##N, u32, W, W, u32, is_certain<R>(a, b, c) ? 2 : outcome(in_any_order(SAME + 101, a, b)))
HASHED_REAL_OPERATIONS(f16, u16, F16)
HASHED_REAL_OPERATIONS(bf16, u16, BF16)
HASHED_REAL_OPERATIONS(f32, u32, F32)
HASHED_REAL_OPERATIONS(f64, u64, F64)

// R: a type of real numbers as wide, as which bits of no known type are read.
#define HASHED_WORD_OPERATIONS(N, W, R) \
    OP3(hashed_select_##N, W, W, W, u32, chosen<R>(a, b, c)) \
    OP2(hashed_touched_##N, W, W, u32, touched<R>(a, b)) \
    OP2(hashed_max_##N, W, W, W, first_of_integers<R>(LARGEST, a, b)) \
    OP2(hashed_min_##N, W, W, W, first_of_integers<R>(SMALLEST, a, b)) \
    OP1(hashed_key_##N, u64, W, a ? scrambled(ANY, a) | 1 : 0) \
    OP3(hashed_result_##N, W, W, u64, u64, b ? W(in_order(ANY, b, c)) : a) \
    OP3(hashed_lt_##N, u32, W, W, u32, is_certain_of_integers<W>(a, b, c) ? 2 : outcome(in_order(LESS + (c >> 2), a, b))) \
    OP3(hashed_eq_##N, u32, W, W, u32, is_certain_of_integers<W>(a, b, c) ? 2 : outcome(in_any_order(SAME, a, b)))
HASHED_WORD_OPERATIONS(b16, u16, F16)
HASHED_WORD_OPERATIONS(b32, u32, F32)
HASHED_WORD_OPERATIONS(b64, u64, F64)

// Bits of what is part of a key, in an order or in any.
OP2(hashed_mix_b64, u64, u64, u64, in_order(ANY, a, b))
OP2(hashed_pair_b64, u64, u64, u64, in_any_order(ANY, a, b))
// A key that is none where a number says so.
OP2(hashed_unless_b64, u64, u64, u64, b ? a | 1 : 0)
OP2(hashed_and_b32, u32, u32, u32, both(a, b))
OP2(hashed_or_b32, u32, u32, u32, either(a, b))
OP2(hashed_xor_b32, u32, u32, u32, unlike(a, b))
OP1(hashed_not_b32, u32, u32, opposite(a))
OP2(hashed_outcome_b32, u32, u32, u32, a == 2 ? b : a)
OP1(hashed_holds_b32, pred, u32, a == 1 || a >> 31)

}  // namespace functions
}  // namespace cutune

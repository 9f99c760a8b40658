// Operations on data as other functions of the same operands, for trials: see
// cutune/measure/trial_functions.py. Each hashes the bits of its operands. What is true of an
// operation for all numbers is true of its function: operands of sums and products may be exchanged,
// and zero and infinity, with which tiles are padded, do what they do.
#include "machine_values.h"

namespace cutune {
namespace functions {

// What comparisons give, in 32 bits: 1 or 0 where all numbers give that, or the hash of comparison
// and operands, whose highest bit is the outcome. `data`: which operands are: a (1), b (2).
constexpr u32 OUTCOME = 1u << 31;
ALWAYS_INLINE u32 opposite(u32 a) { return a < 2 ? a ^ 1 : a ^ OUTCOME; }
ALWAYS_INLINE u32 outcome(u64 hash) { return u32(hash >> 32) | 2; }
template <class R> ALWAYS_INLINE bool is_certain(typename R::Word a, typename R::Word b, u32 data) {
    if ((data & 1 && R::large(a)) || (data & 2 && R::large(b))) return true;
    return (!(data & 1) || R::zero(a)) && (!(data & 2) || R::zero(b));
}
// Equal numbers are no NaN, if the comparison tells that of none or they are known.
template <class R, bool TELLS> ALWAYS_INLINE bool is_certain(typename R::Word a, typename R::Word b, u32 data) {
    return (a == b && (!TELLS || R::known(a))) || is_certain<R>(a, b, data);
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
    return R::ordinary(in_order(CHOSEN, hash, by & ~OUTCOME), R::zero_of(by & OUTCOME ? a : b));
}
template <class R> ALWAYS_INLINE typename R::Word touched(typename R::Word a, u32 by) {
    return by < 2 ? a : R::ordinary(in_order(TOUCHED, a, by & ~OUTCOME), R::zero_of(a));
}

// R: a type of real numbers, W: its bits.
#define HASHED_REAL_OPERATIONS(N, W, R) \
    OP2(hashed_add_##N, W, W, W, sum<R>(a, b)) \
    OP2(hashed_sub_##N, W, W, W, difference<R>(a, b)) \
    OP1(hashed_neg_##N, W, W, R::negated(a)) \
    OP2(hashed_mul_##N, W, W, W, (product<R, false>(a, b))) \
    OP2(hashed_mul_known_##N, W, W, W, (product<R, true>(a, b))) \
    OP3(hashed_fma_##N, W, W, W, W, (fused<R, false>(a, b, c))) \
    OP3(hashed_fma_known_##N, W, W, W, W, (fused<R, true>(a, b, c))) \
    OP2(hashed_div_##N, W, W, W, quotient<R>(a, b)) \
    OP2(hashed_max_##N, W, W, W, (joined<JoinedReals<R>, W>(LARGEST, a, b))) \
    OP2(hashed_min_##N, W, W, W, (joined<JoinedReals<R>, W>(SMALLEST, a, b))) \
    OP1(hashed_key_##N, u64, W, R::special(a) ? 0 : scrambled(ANY, a) | 1) \
    OP3(hashed_result_##N, W, W, u64, u64, b ? R::ordinary(in_order(ANY, b, c)) : a) \
    OP3(hashed_lt_##N, u32, W, W, u32, (is_certain<R, false>(a, b, c)) ? 2 : outcome(in_order(LESS, a, b))) \
    OP3(hashed_le_##N, u32, W, W, u32, (is_certain<R, true>(a, b, c)) ? 2 : outcome(in_order(LEAST, a, b))) \
    OP3(hashed_eq_##N, u32, W, W, u32, (is_certain<R, true>(a, b, c)) ? 2 : outcome(in_any_order(SAME, a, b))) \
    OP3(hashed_equ_##N, u32, W, W, u32, (is_certain<R, false>(a, b, c)) ? 2 : outcome(in_any_order(SAME + 100, a, b))) \
    OP3(hashed_num_##N, u32, W, W, u32, (is_certain<R, true>(a, b, c)) ? 2 : outcome(in_any_order(SAME + 101, a, b)))
HASHED_REAL_OPERATIONS(f16, u16, F16)
HASHED_REAL_OPERATIONS(bf16, u16, BF16)
HASHED_REAL_OPERATIONS(f32, u32, F32)
HASHED_REAL_OPERATIONS(f64, u64, F64)

// R: a type of real numbers as wide, as which bits of no known type are read.
#define HASHED_WORD_OPERATIONS(N, W, R) \
    OP3(hashed_select_##N, W, W, W, u32, chosen<R>(a, b, c)) \
    OP2(hashed_touched_##N, W, W, u32, touched<R>(a, b)) \
    OP2(hashed_max_##N, W, W, W, (joined<JoinedIntegers<W>, W>(LARGEST, a, b))) \
    OP2(hashed_min_##N, W, W, W, (joined<JoinedIntegers<W>, W>(SMALLEST, a, b))) \
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

// Half precision and bfloat16, single and in pairs. Sums and products are formed in double, which
// holds a product exactly, and rounded once.
#include "machine_half.h"

#include "machine_lanes.h"

namespace cutune {
namespace {

template <class F> ALWAYS_INLINE u16 add(u16 a, u16 b) {
    return F::narrowed(sum_to_odd(F::widened(a), F::widened(b)));
}
template <class F> ALWAYS_INLINE u16 sub(u16 a, u16 b) {
    return F::narrowed(sum_to_odd(F::widened(a), -f64(F::widened(b))));
}
template <class F> ALWAYS_INLINE u16 mul(u16 a, u16 b) {
    return F::narrowed(f64(F::widened(a)) * f64(F::widened(b)));
}
template <class F> ALWAYS_INLINE u16 fma(u16 a, u16 b, u16 c) {
    return F::narrowed(sum_to_odd(f64(F::widened(a)) * f64(F::widened(b)), F::widened(c)));
}

template <class F> ALWAYS_INLINE u16 least(u16 a, u16 b) {
    if (F::is_nan(a)) return F::is_nan(b) ? F::NOT_A_NUMBER : b;
    if (F::is_nan(b)) return a;
    const f32 x = F::widened(a), y = F::widened(b);
    return x == y ? a | b : x < y ? a : b;  // of two zeros the negative one
}
template <class F> ALWAYS_INLINE u16 greatest(u16 a, u16 b) {
    if (F::is_nan(a)) return F::is_nan(b) ? F::NOT_A_NUMBER : b;
    if (F::is_nan(b)) return a;
    const f32 x = F::widened(a), y = F::widened(b);
    return x == y ? a & b : x > y ? a : b;
}
template <class F> ALWAYS_INLINE u16 least_nan(u16 a, u16 b) {
    return F::is_nan(a) || F::is_nan(b) ? F::NOT_A_NUMBER : least<F>(a, b);
}
template <class F> ALWAYS_INLINE u16 greatest_nan(u16 a, u16 b) {
    return F::is_nan(a) || F::is_nan(b) ? F::NOT_A_NUMBER : greatest<F>(a, b);
}
template <class F> ALWAYS_INLINE u16 power_of_two(u16 a) { return F::narrowed(exp2(F::widened(a))); }
template <class F> ALWAYS_INLINE u16 hyperbolic(u16 a) { return F::narrowed(tanh(F::widened(a))); }
template <class F> ALWAYS_INLINE u16 negated(u16 a) { return F::is_nan(a) ? F::NOT_A_NUMBER : a ^ 0x8000; }
template <class F> ALWAYS_INLINE u16 absolute(u16 a) { return F::is_nan(a) ? F::NOT_A_NUMBER : a & 0x7fff; }

}  // namespace

// An operation of PTX on single numbers and on pairs, by what computes it. Of two operands:
#define SINGLE_AND_PAIR_2_OPERATIONS(NAME, OF, T, F) \
    EACH2(NAME##_##T, u16, u16, u16, OF<F>(a, b)) \
    EACH2(NAME##_##T##x2, u32, u32, u32, both<OF<F>>(a, b))
// Of one, lane by lane (`HOW` is EACH1) or all lanes at once (OP1).
#define SINGLE_AND_PAIR_1_OPERATIONS(HOW, NAME, OF, T, F) \
    HOW(NAME##_##T, u16, u16, OF<F>(a)) \
    HOW(NAME##_##T##x2, u32, u32, both<OF<F>>(a))

// The operations of one format: T is its name in PTX, F how it is read and written.
#define HALF_OPERATIONS(T, F) \
    SINGLE_AND_PAIR_2_OPERATIONS(add, add, T, F) \
    SINGLE_AND_PAIR_2_OPERATIONS(sub, sub, T, F) \
    SINGLE_AND_PAIR_2_OPERATIONS(mul, mul, T, F) \
    SINGLE_AND_PAIR_2_OPERATIONS(min, least, T, F) \
    SINGLE_AND_PAIR_2_OPERATIONS(max, greatest, T, F) \
    SINGLE_AND_PAIR_2_OPERATIONS(min_NaN, least_nan, T, F) \
    SINGLE_AND_PAIR_2_OPERATIONS(max_NaN, greatest_nan, T, F) \
    EACH3(fma_##T, u16, u16, u16, u16, fma<F>(a, b, c)) \
    EACH3(fma_##T##x2, u32, u32, u32, u32, both<fma<F>>(a, b, c)) \
    SINGLE_AND_PAIR_1_OPERATIONS(EACH1, ex2, power_of_two, T, F) \
    SINGLE_AND_PAIR_1_OPERATIONS(EACH1, tanh, hyperbolic, T, F) \
    SINGLE_AND_PAIR_1_OPERATIONS(OP1, neg, negated, T, F) \
    SINGLE_AND_PAIR_1_OPERATIONS(OP1, abs, absolute, T, F) \
    EACH1(saturate_##T##x2, u32, u32, both<F::saturated>(a)) \
    EACH1(relu_##T##x2, u32, u32, both<F::relu>(a)) \
    EACH1(flush_##T, u16, u16, F::flushed(a)) \
    EACH1(flush_##T##x2, u32, u32, both<F::flushed>(a))
HALF_OPERATIONS(f16, Half)
HALF_OPERATIONS(bf16, Brain)

}  // namespace cutune

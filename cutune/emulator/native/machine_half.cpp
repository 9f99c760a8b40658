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

template <u16 (*OP)(u16)> ALWAYS_INLINE u32 both(u32 a) {
    return OP(u16(a)) | u32(OP(u16(a >> 16))) << 16;
}
template <u16 (*OP)(u16, u16)> ALWAYS_INLINE u32 both(u32 a, u32 b) {
    return OP(u16(a), u16(b)) | u32(OP(u16(a >> 16), u16(b >> 16))) << 16;
}
template <u16 (*OP)(u16, u16, u16)> ALWAYS_INLINE u32 both(u32 a, u32 b, u32 c) {
    return OP(u16(a), u16(b), u16(c)) | u32(OP(u16(a >> 16), u16(b >> 16), u16(c >> 16))) << 16;
}

}  // namespace

// The operations of one format: T is its name in PTX, F how it is read and written.
#define HALF_OPERATIONS(T, F) \
    EACH2(add_##T, u16, u16, u16, add<F>(a, b)) \
    EACH2(add_##T##x2, u32, u32, u32, both<add<F>>(a, b)) \
    EACH2(sub_##T, u16, u16, u16, sub<F>(a, b)) \
    EACH2(sub_##T##x2, u32, u32, u32, both<sub<F>>(a, b)) \
    EACH2(mul_##T, u16, u16, u16, mul<F>(a, b)) \
    EACH2(mul_##T##x2, u32, u32, u32, both<mul<F>>(a, b)) \
    EACH2(min_##T, u16, u16, u16, least<F>(a, b)) \
    EACH2(min_##T##x2, u32, u32, u32, both<least<F>>(a, b)) \
    EACH2(max_##T, u16, u16, u16, greatest<F>(a, b)) \
    EACH2(max_##T##x2, u32, u32, u32, both<greatest<F>>(a, b)) \
    EACH2(min_NaN_##T, u16, u16, u16, least_nan<F>(a, b)) \
    EACH2(min_NaN_##T##x2, u32, u32, u32, both<least_nan<F>>(a, b)) \
    EACH2(max_NaN_##T, u16, u16, u16, greatest_nan<F>(a, b)) \
    EACH2(max_NaN_##T##x2, u32, u32, u32, both<greatest_nan<F>>(a, b)) \
    EACH3(fma_##T, u16, u16, u16, u16, fma<F>(a, b, c)) \
    EACH3(fma_##T##x2, u32, u32, u32, u32, both<fma<F>>(a, b, c)) \
    EACH1(ex2_##T, u16, u16, power_of_two<F>(a)) \
    EACH1(ex2_##T##x2, u32, u32, both<power_of_two<F>>(a)) \
    EACH1(tanh_##T, u16, u16, hyperbolic<F>(a)) \
    EACH1(tanh_##T##x2, u32, u32, both<hyperbolic<F>>(a)) \
    OP1(neg_##T, u16, u16, negated<F>(a)) \
    OP1(neg_##T##x2, u32, u32, both<negated<F>>(a)) \
    OP1(abs_##T, u16, u16, absolute<F>(a)) \
    OP1(abs_##T##x2, u32, u32, both<absolute<F>>(a)) \
    EACH1(saturate_##T##x2, u32, u32, both<F::saturated>(a)) \
    EACH1(relu_##T##x2, u32, u32, both<F::relu>(a)) \
    EACH1(flush_##T, u16, u16, F::flushed(a)) \
    EACH1(flush_##T##x2, u32, u32, both<F::flushed>(a))
HALF_OPERATIONS(f16, Half)
HALF_OPERATIONS(bf16, Brain)

}  // namespace cutune

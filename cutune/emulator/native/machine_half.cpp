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

EACH2(add_f16, u16, u16, u16, add<Half>(a, b))
EACH2(add_f16x2, u32, u32, u32, both<add<Half>>(a, b))
EACH2(sub_f16, u16, u16, u16, sub<Half>(a, b))
EACH2(sub_f16x2, u32, u32, u32, both<sub<Half>>(a, b))
EACH2(mul_f16, u16, u16, u16, mul<Half>(a, b))
EACH2(mul_f16x2, u32, u32, u32, both<mul<Half>>(a, b))
EACH2(min_f16, u16, u16, u16, least<Half>(a, b))
EACH2(min_f16x2, u32, u32, u32, both<least<Half>>(a, b))
EACH2(max_f16, u16, u16, u16, greatest<Half>(a, b))
EACH2(max_f16x2, u32, u32, u32, both<greatest<Half>>(a, b))
EACH2(min_NaN_f16, u16, u16, u16, least_nan<Half>(a, b))
EACH2(min_NaN_f16x2, u32, u32, u32, both<least_nan<Half>>(a, b))
EACH2(max_NaN_f16, u16, u16, u16, greatest_nan<Half>(a, b))
EACH2(max_NaN_f16x2, u32, u32, u32, both<greatest_nan<Half>>(a, b))
EACH3(fma_f16, u16, u16, u16, u16, fma<Half>(a, b, c))
EACH3(fma_f16x2, u32, u32, u32, u32, both<fma<Half>>(a, b, c))
EACH1(ex2_f16, u16, u16, power_of_two<Half>(a))
EACH1(ex2_f16x2, u32, u32, both<power_of_two<Half>>(a))
EACH1(tanh_f16, u16, u16, hyperbolic<Half>(a))
EACH1(tanh_f16x2, u32, u32, both<hyperbolic<Half>>(a))
OP1(neg_f16, u16, u16, negated<Half>(a))
OP1(neg_f16x2, u32, u32, both<negated<Half>>(a))
OP1(abs_f16, u16, u16, absolute<Half>(a))
OP1(abs_f16x2, u32, u32, both<absolute<Half>>(a))
EACH1(saturate_f16x2, u32, u32, both<Half::saturated>(a))
EACH1(relu_f16x2, u32, u32, both<Half::relu>(a))
EACH1(flush_f16, u16, u16, Half::flushed(a))
EACH1(flush_f16x2, u32, u32, both<Half::flushed>(a))
EACH2(add_bf16, u16, u16, u16, add<Brain>(a, b))
EACH2(add_bf16x2, u32, u32, u32, both<add<Brain>>(a, b))
EACH2(sub_bf16, u16, u16, u16, sub<Brain>(a, b))
EACH2(sub_bf16x2, u32, u32, u32, both<sub<Brain>>(a, b))
EACH2(mul_bf16, u16, u16, u16, mul<Brain>(a, b))
EACH2(mul_bf16x2, u32, u32, u32, both<mul<Brain>>(a, b))
EACH2(min_bf16, u16, u16, u16, least<Brain>(a, b))
EACH2(min_bf16x2, u32, u32, u32, both<least<Brain>>(a, b))
EACH2(max_bf16, u16, u16, u16, greatest<Brain>(a, b))
EACH2(max_bf16x2, u32, u32, u32, both<greatest<Brain>>(a, b))
EACH2(min_NaN_bf16, u16, u16, u16, least_nan<Brain>(a, b))
EACH2(min_NaN_bf16x2, u32, u32, u32, both<least_nan<Brain>>(a, b))
EACH2(max_NaN_bf16, u16, u16, u16, greatest_nan<Brain>(a, b))
EACH2(max_NaN_bf16x2, u32, u32, u32, both<greatest_nan<Brain>>(a, b))
EACH3(fma_bf16, u16, u16, u16, u16, fma<Brain>(a, b, c))
EACH3(fma_bf16x2, u32, u32, u32, u32, both<fma<Brain>>(a, b, c))
EACH1(ex2_bf16, u16, u16, power_of_two<Brain>(a))
EACH1(ex2_bf16x2, u32, u32, both<power_of_two<Brain>>(a))
EACH1(tanh_bf16, u16, u16, hyperbolic<Brain>(a))
EACH1(tanh_bf16x2, u32, u32, both<hyperbolic<Brain>>(a))
OP1(neg_bf16, u16, u16, negated<Brain>(a))
OP1(neg_bf16x2, u32, u32, both<negated<Brain>>(a))
OP1(abs_bf16, u16, u16, absolute<Brain>(a))
OP1(abs_bf16x2, u32, u32, both<absolute<Brain>>(a))
EACH1(saturate_bf16x2, u32, u32, both<Brain::saturated>(a))
EACH1(relu_bf16x2, u32, u32, both<Brain::relu>(a))
EACH1(flush_bf16, u16, u16, Brain::flushed(a))
EACH1(flush_bf16x2, u32, u32, both<Brain::flushed>(a))

}  // namespace cutune

// Single and double precision. Multiplications and additions are never contracted.
#include <cmath>

#include "machine_lanes.h"
#include "machine_numbers.h"

namespace cutune {
namespace {

// NaN saturates to zero.
ALWAYS_INLINE f32 saturate(f32 a) { return a > 0.0f ? (a < 1.0f ? a : 1.0f) : 0.0f; }
ALWAYS_INLINE f64 saturate(f64 a) { return a > 0.0 ? (a < 1.0 ? a : 1.0) : 0.0; }

ALWAYS_INLINE bool is_negative(f32 a) { return bits<u32>(a) >> 31; }
ALWAYS_INLINE bool is_negative(f64 a) { return bits<u64>(a) >> 63; }

// A NaN loses against a number; -0 is less than +0.
template <class T> ALWAYS_INLINE T smaller(T a, T b) {
    if (a != a) return b == b ? b : (sizeof(T) == 4 ? T(bits<f32>(0x7fffffffu)) : T(NAN));
    if (b != b) return a;
    if (a == b) return is_negative(a) ? a : b;
    return a < b ? a : b;
}
template <class T> ALWAYS_INLINE T larger(T a, T b) {
    if (a != a) return b == b ? b : (sizeof(T) == 4 ? T(bits<f32>(0x7fffffffu)) : T(NAN));
    if (b != b) return a;
    if (a == b) return is_negative(a) ? b : a;
    return a > b ? a : b;
}
ALWAYS_INLINE f32 smaller_nan(f32 a, f32 b) {
    return a != a || b != b ? bits<f32>(0x7fffffffu) : smaller(a, b);
}
ALWAYS_INLINE f32 larger_nan(f32 a, f32 b) {
    return a != a || b != b ? bits<f32>(0x7fffffffu) : larger(a, b);
}
ALWAYS_INLINE f32 with_sign(f32 magnitude, u32 sign) {
    if (magnitude != magnitude) return canonical(magnitude);
    return bits<f32>((bits<u32>(magnitude) & 0x7fffffff) | (sign & 0x80000000));
}
ALWAYS_INLINE f32 absolute(f32 a) { return bits<f32>(bits<u32>(a) & 0x7fffffff); }
ALWAYS_INLINE f64 absolute(f64 a) { return bits<f64>(bits<u64>(a) & ~(1ull << 63)); }

// PTX manual, div.approx: a divisor above 2^126 gives 0, or NaN for an infinite dividend.
ALWAYS_INLINE f32 quotient_approximate(f32 a, f32 b) {
    const f32 size = absolute(b);
    if (size > 0x1p126f && size < INFINITY) return absolute(a) == INFINITY ? NAN : 0.0f * a * b;
    return a / b;
}

// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 see and give the upper 32 bits only.
ALWAYS_INLINE f64 upper_half(f64 a) {
    const u64 x = bits<u64>(a);
    const bool normal = x & 0x7ff0000000000000ull;
    return bits<f64>(x & (normal ? 0xffffffff00000000ull : 1ull << 63));
}

// Directed rounding is rare: the processor's mode is switched around a loop that the compiler
// cannot move arithmetic out of (volatile).
template <class T, class F> const Instruction* rounded(const Instruction* i, Warp& w, F f) {
    Lane<T>* d = lanes<T>(w, i->d);
    const Lane<T>*a = lanes<T>(w, i->a), *b = lanes<T>(w, i->b), *c = lanes<T>(w, i->c);
    fesetround(ROUNDING[further_operands(*i) & 3]);
    FOR_ACTIVE(w, l) {
        volatile T x = unpack<T>(a[l]), y = unpack<T>(b[l]), z = unpack<T>(c[l]);
        volatile T result = f(x, y, z);
        d[l] = pack<T>(canonical(result));
    }
    fesetround(FE_TONEAREST);
    return i + 1;
}

#define ROUNDED(name, T, ...) \
    HANDLER(name) { return rounded<T>(i, w, [](T a, T b, T c) -> T { (void)b, (void)c; return __VA_ARGS__; }); }

}  // namespace

#define ROUNDED_OPERATIONS(T) \
    ROUNDED(add_rounded_##T, T, a + b) \
    ROUNDED(sub_rounded_##T, T, a - b) \
    ROUNDED(mul_rounded_##T, T, a * b) \
    ROUNDED(div_rounded_##T, T, a / b) \
    ROUNDED(rcp_rounded_##T, T, T(1) / a) \
    ROUNDED(sqrt_rounded_##T, T, std::sqrt(a)) \
    ROUNDED(fma_rounded_##T, T, std::fma(a, b, c))
ROUNDED_OPERATIONS(f32)
ROUNDED_OPERATIONS(f64)

OP1(flush_f32, f32, f32, canonical(flush(a)))
OP1(flush_result_f32, f32, f32, flush(a))
OP1(canonical_f32, f32, f32, canonical(a))
OP1(saturate_f32, f32, f32, saturate(a))
OP1(saturate_f64, f64, f64, saturate(a))
OP2(add_f32, f32, f32, f32, canonical(a + b))
OP2(add_ftz_f32, f32, f32, f32, canonical(flush(flush(a) + flush(b))))
OP2(add_f64, f64, f64, f64, a + b)
OP2(sub_f32, f32, f32, f32, canonical(a - b))
OP2(sub_ftz_f32, f32, f32, f32, canonical(flush(flush(a) - flush(b))))
OP2(sub_f64, f64, f64, f64, a - b)
OP2(mul_f32, f32, f32, f32, canonical(a * b))
OP2(mul_ftz_f32, f32, f32, f32, canonical(flush(flush(a) * flush(b))))
OP2(mul_f64, f64, f64, f64, a * b)
OP3(fma_f32, f32, f32, f32, f32, canonical(__builtin_fmaf(a, b, c)))
OP3(fma_ftz_f32, f32, f32, f32, f32, canonical(flush(__builtin_fmaf(flush(a), flush(b), flush(c)))))
OP3(fma_f64, f64, f64, f64, f64, __builtin_fma(a, b, c))
OP2(div_f32, f32, f32, f32, canonical(a / b))
OP2(div_approx_f32, f32, f32, f32, canonical(quotient_approximate(a, b)))
OP2(div_f64, f64, f64, f64, a / b)
OP1(rcp_f32, f32, f32, canonical(1.0f / a))
OP1(rcp_f64, f64, f64, 1.0 / a)
OP1(rcp_ftz_f64, f64, f64, upper_half(1.0 / upper_half(a)))
OP1(sqrt_f32, f32, f32, canonical(__builtin_sqrtf(a)))
OP1(sqrt_f64, f64, f64, __builtin_sqrt(a))
OP1(rsqrt_f32, f32, f32, canonical(f32(1.0 / __builtin_sqrt(f64(a)))))
OP1(rsqrt_f64, f64, f64, 1.0 / __builtin_sqrt(a))
OP1(rsqrt_ftz_f64, f64, f64, upper_half(1.0 / __builtin_sqrt(upper_half(a))))
EACH1(sin_f32, f32, f32, canonical(sinf(a)))
EACH1(cos_f32, f32, f32, canonical(cosf(a)))
EACH1(lg2_f32, f32, f32, canonical(log2f(a)))
EACH1(ex2_f32, f32, f32, canonical(exp2f(a)))
EACH1(tanh_f32, f32, f32, canonical(tanhf(a)))
OP1(abs_f32, f32, f32, canonical(absolute(a)))
OP1(abs_f64, f64, f64, a == a ? absolute(a) : a)
OP1(neg_f32, f32, f32, canonical(-a))
OP1(neg_f64, f64, f64, a == a ? -a : a)
OP2(copysign_f32, f32, f32, f32, bits<f32>((bits<u32>(a) & 0x80000000) | (bits<u32>(b) & 0x7fffffff)))
OP2(copysign_f64, f64, f64, f64, bits<f64>((bits<u64>(a) & 1ull << 63) | (bits<u64>(b) & ~(1ull << 63))))
OP2(min_f32, f32, f32, f32, smaller(a, b))
OP2(max_f32, f32, f32, f32, larger(a, b))
OP2(min_NaN_f32, f32, f32, f32, smaller_nan(a, b))
OP2(max_NaN_f32, f32, f32, f32, larger_nan(a, b))
OP2(min_xorsign_abs_f32, f32, f32, f32, with_sign(smaller(absolute(a), absolute(b)), bits<u32>(a) ^ bits<u32>(b)))
OP2(max_xorsign_abs_f32, f32, f32, f32, with_sign(larger(absolute(a), absolute(b)), bits<u32>(a) ^ bits<u32>(b)))
OP2(min_f64, f64, f64, f64, smaller(a, b))
OP2(max_f64, f64, f64, f64, larger(a, b))

MIXED_2(add_f32, f32, f32, f32)
MIXED_2(sub_f32, f32, f32, f32)
MIXED_2(mul_f32, f32, f32, f32)
MIXED_3(fma_f32, f32, f32, f32, f32)

// Comparisons and tests of one type; LEAST is its smallest normal number.
#define COMPARING_OPERATIONS(T, LEAST) \
    OP2(setp_eq_##T, pred, T, T, a == b) \
    OP2(setp_lt_##T, pred, T, T, a < b) \
    OP2(setp_le_##T, pred, T, T, a <= b) \
    OP2(setp_gt_##T, pred, T, T, a > b) \
    OP2(setp_ge_##T, pred, T, T, a >= b) \
    OP2(setp_equ_##T, pred, T, T, a == b || a != a || b != b) \
    OP2(setp_ltu_##T, pred, T, T, a < b || a != a || b != b) \
    OP2(setp_leu_##T, pred, T, T, a <= b || a != a || b != b) \
    OP2(setp_gtu_##T, pred, T, T, a > b || a != a || b != b) \
    OP2(setp_geu_##T, pred, T, T, a >= b || a != a || b != b) \
    OP2(setp_ne_##T, pred, T, T, a < b || a > b) \
    OP2(setp_neu_##T, pred, T, T, a != b) \
    OP2(setp_num_##T, pred, T, T, a == a && b == b) \
    OP2(setp_nan_##T, pred, T, T, a != a || b != b) \
    OP1(testp_finite_##T, pred, T, absolute(a) < T(INFINITY)) \
    OP1(testp_infinite_##T, pred, T, absolute(a) == T(INFINITY)) \
    OP1(testp_number_##T, pred, T, a == a) \
    OP1(testp_notanumber_##T, pred, T, a != a) \
    OP1(testp_normal_##T, pred, T, a == 0 || (absolute(a) >= LEAST && absolute(a) < T(INFINITY))) \
    OP1(testp_subnormal_##T, pred, T, a != 0 && absolute(a) < LEAST)
COMPARING_OPERATIONS(f32, 0x1p-126f)
COMPARING_OPERATIONS(f64, 0x1p-1022)

}  // namespace cutune

// Conversions. Integers narrower than 32 bits are extended first and narrowed afterwards (see
// lower/dispatch.py), so only 32- and 64-bit integers meet floating types here.
#include <cmath>

#include "machine_half.h"
#include "machine_lanes.h"
#include "machine_numbers.h"

namespace cutune {
namespace {

template <class To, class From> ALWAYS_INLINE To clamped(From a) {
    constexpr To lowest = std::numeric_limits<To>::min(), highest = std::numeric_limits<To>::max();
    if constexpr (std::is_signed_v<From>) {
        if constexpr (std::is_signed_v<To>) {
            if constexpr (sizeof(To) >= sizeof(From)) return To(a);
            else return a < From(lowest) ? lowest : a > From(highest) ? highest : To(a);
        } else {
            if (a < 0) return 0;
            if constexpr (sizeof(To) >= sizeof(From)) return To(a);
            else return a > From(highest) ? highest : To(a);
        }
    } else {
        if constexpr (sizeof(To) > sizeof(From)) return To(a);
        else return a > From(highest) ? highest : To(a);
    }
}

// Out of range saturates. PTX manual, cvt: NaN gives 0, but 1 << (width - 1) when either side has
// 64 bits.
template <class To, class From> ALWAYS_INLINE To integer_of(From a) {
    constexpr bool wide = sizeof(To) == 8 || sizeof(From) == 8;
    constexpr To not_a_number = wide ? To(u64(1) << (8 * sizeof(To) - 1)) : To(0);
    constexpr To lowest = std::numeric_limits<To>::min(), highest = std::numeric_limits<To>::max();
    // 2^31, 2^32, 2^63, 2^64: the first value above the type.
    constexpr From above = From(highest / 2 + 1) * From(2);
    if (a != a) return not_a_number;
    if (a >= above) return highest;
    if (a <= From(lowest)) return lowest;
    return To(a);
}

template <class To, class From, class F>
const Instruction* rounded(const Instruction* i, Warp& w, F f) {
    Lane<To>* d = lanes<To>(w, i->d);
    const Lane<From>* a = lanes<From>(w, i->a);
    fesetround(ROUNDING[further_operands(*i) & 3]);
    FOR_ACTIVE(w, l) {
        volatile From value = unpack<From>(a[l]);
        volatile To result = f(value);
        d[l] = pack<To>(result);
    }
    fesetround(FE_TONEAREST);
    return i + 1;
}

#define ROUNDED_CONVERSION(name, To, From) \
    HANDLER(name) { return rounded<To, From>(i, w, [](From a) { return To(a); }); }

// A double NaN keeps its sign and the first bits of its payload in half precision.
ALWAYS_INLINE u16 quieted(f64 a) {
    const u64 x = bits<u64>(a);
    return (x >> 48 & 0x8000) | 0x7e00 | (x >> 42 & 0x1ff);
}

// Half precision in a given direction: what the nearest gives, moved by one where it lies on the
// wrong side.
template <class Format, class From> u16 half_towards(From a, u32 mode) {
    if (a != a) return sizeof(From) == 8 ? quieted(f64(a)) : Format::NOT_A_NUMBER;
    const u16 nearest = Format::narrowed(f64(a));
    const f64 value = Format::widened(nearest);
    if (value == f64(a)) return nearest;
    const bool too_high = value > f64(a);
    const bool wants_lower = mode == 2 || (mode == 1 && a > 0);
    if (too_high == wants_lower && too_high) return Format::next_below(nearest);
    if (!too_high && !wants_lower) return Format::next_above(nearest);
    return nearest;
}

template <class Format, class From>
const Instruction* half_rounded(const Instruction* i, Warp& w) {
    u32* d = w.narrow(i->d);
    const Lane<From>* a = lanes<From>(w, i->a);
    const u32 mode = further_operands(*i);
    FOR_ACTIVE(w, l) d[l] = half_towards<Format>(unpack<From>(a[l]), mode);
    return i + 1;
}

// To nearest, ties away from zero, 10 bits of mantissa.
ALWAYS_INLINE u32 tf32(f32 a) {
    const u32 x = bits<u32>(a);
    if ((x & 0x7f800000) == 0x7f800000) return x & ~0x1fffu;
    return (x + 0x1000) & ~0x1fffu;
}

}  // namespace

OP1(extend_u8, u32, u32, a & 0xff)
OP1(extend_s8, u32, u32, u32(s32(s8(a))))
OP1(extend_u16, u32, u32, a & 0xffff)
OP1(extend_s16, u32, u32, u32(s32(s16(a))))
OP1(widen_u32, u64, u32, a)
OP1(widen_s32, s64, s32, a)
OP1(cvt_tf32_f32, u32, f32, tf32(a))

OP1(sat_u8_u32, u8, u32, clamped<u8>(a))
OP1(sat_u8_s32, u8, s32, clamped<u8>(a))
OP1(sat_u8_u64, u8, u64, clamped<u8>(a))
OP1(sat_u8_s64, u8, s64, clamped<u8>(a))
OP1(sat_s8_u32, s8, u32, clamped<s8>(a))
OP1(sat_s8_s32, s8, s32, clamped<s8>(a))
OP1(sat_s8_u64, s8, u64, clamped<s8>(a))
OP1(sat_s8_s64, s8, s64, clamped<s8>(a))
OP1(sat_u16_u32, u16, u32, clamped<u16>(a))
OP1(sat_u16_s32, u16, s32, clamped<u16>(a))
OP1(sat_u16_u64, u16, u64, clamped<u16>(a))
OP1(sat_u16_s64, u16, s64, clamped<u16>(a))
OP1(sat_s16_u32, s16, u32, clamped<s16>(a))
OP1(sat_s16_s32, s16, s32, clamped<s16>(a))
OP1(sat_s16_u64, s16, u64, clamped<s16>(a))
OP1(sat_s16_s64, s16, s64, clamped<s16>(a))
OP1(sat_u32_s32, u32, s32, clamped<u32>(a))
OP1(sat_u32_u64, u32, u64, clamped<u32>(a))
OP1(sat_u32_s64, u32, s64, clamped<u32>(a))
OP1(sat_s32_u32, s32, u32, clamped<s32>(a))
OP1(sat_s32_u64, s32, u64, clamped<s32>(a))
OP1(sat_s32_s64, s32, s64, clamped<s32>(a))
OP1(sat_u64_u32, u64, u32, clamped<u64>(a))
OP1(sat_u64_s32, u64, s32, clamped<u64>(a))
OP1(sat_u64_s64, u64, s64, clamped<u64>(a))
OP1(sat_s64_u32, s64, u32, clamped<s64>(a))
OP1(sat_s64_s32, s64, s32, clamped<s64>(a))
OP1(sat_s64_u64, s64, u64, clamped<s64>(a))

OP1(cvt_rni_f32, f32, f32, canonical(std::nearbyint(a)))
OP1(cvt_rzi_f32, f32, f32, canonical(std::trunc(a)))
OP1(cvt_rmi_f32, f32, f32, canonical(std::floor(a)))
OP1(cvt_rpi_f32, f32, f32, canonical(std::ceil(a)))
OP1(cvt_rni_f64, f64, f64, std::nearbyint(a))
OP1(cvt_rzi_f64, f64, f64, std::trunc(a))
OP1(cvt_rmi_f64, f64, f64, std::floor(a))
OP1(cvt_rpi_f64, f64, f64, std::ceil(a))

// To integers by the rounding R, which F does; its results are those of cvt_R_T above.
#define INTEGRAL_OPERATIONS(T, R, F) \
    OP1(cvt_##R##_u32_##T, u32, T, integer_of<u32>(F(a))) \
    OP1(cvt_##R##_s32_##T, s32, T, integer_of<s32>(F(a))) \
    OP1(cvt_##R##_u64_##T, u64, T, integer_of<u64>(F(a))) \
    OP1(cvt_##R##_s64_##T, s64, T, integer_of<s64>(F(a)))
INTEGRAL_OPERATIONS(f32, rni, std::nearbyint)
INTEGRAL_OPERATIONS(f32, rzi, std::trunc)
INTEGRAL_OPERATIONS(f32, rmi, std::floor)
INTEGRAL_OPERATIONS(f32, rpi, std::ceil)
INTEGRAL_OPERATIONS(f64, rni, std::nearbyint)
INTEGRAL_OPERATIONS(f64, rzi, std::trunc)
INTEGRAL_OPERATIONS(f64, rmi, std::floor)
INTEGRAL_OPERATIONS(f64, rpi, std::ceil)

// From integers.
#define NUMBER_OPERATIONS(T) \
    OP1(cvt_##T##_u32, T, u32, T(a)) \
    ROUNDED_CONVERSION(cvt_##T##_u32_rounded, T, u32) \
    OP1(cvt_##T##_s32, T, s32, T(a)) \
    ROUNDED_CONVERSION(cvt_##T##_s32_rounded, T, s32) \
    OP1(cvt_##T##_u64, T, u64, T(a)) \
    ROUNDED_CONVERSION(cvt_##T##_u64_rounded, T, u64) \
    OP1(cvt_##T##_s64, T, s64, T(a)) \
    ROUNDED_CONVERSION(cvt_##T##_s64_rounded, T, s64)
NUMBER_OPERATIONS(f32)
NUMBER_OPERATIONS(f64)

OP1(cvt_f64_f32, f64, f32, a)
OP1(cvt_f32_f64, f32, f64, f32(a))
ROUNDED_CONVERSION(cvt_f32_f64_rounded, f32, f64)

OP1(cvt_f32_f16, f32, u16, canonical(Half::widened(a)))
OP1(cvt_f16_f64, u16, f64, a == a ? Half::narrowed(a) : quieted(a))
OP1(cvt_f32_bf16, f32, u16, Brain::widened(a))
OP1(cvt_bf16_f64, u16, f64, Brain::narrowed(a))
// What both formats have in common: T is its name in PTX, F how it is read and written.
#define HALF_OPERATIONS(T, F) \
    OP1(cvt_f64_##T, f64, u16, F::widened(a)) \
    OP1(cvt_##T##_f32, u16, f32, F::narrowed(a)) \
    HANDLER_OF(cvt_##T##_f32_rounded, half_rounded<F, f32>) \
    HANDLER_OF(cvt_##T##_f64_rounded, half_rounded<F, f64>) \
    OP1(cvt_##T##_u32, u16, u32, F::narrowed_integer(a)) \
    OP1(cvt_##T##_s32, u16, s32, F::narrowed_integer(a)) \
    OP1(cvt_##T##_u64, u16, u64, F::narrowed_integer(a)) \
    OP1(cvt_##T##_s64, u16, s64, F::narrowed_integer(a)) \
    OP1(relu_##T, u16, u16, F::relu(a)) \
    OP1(saturate_##T, u16, u16, F::saturated(a))
HALF_OPERATIONS(f16, Half)
HALF_OPERATIONS(bf16, Brain)

}  // namespace cutune

// Conversions. Integers narrower than 32 bits are extended first and narrowed afterwards (see
// lower/convert.py), so only 32- and 64-bit integers meet floating types here.
#include <cfenv>
#include <cmath>

#include "machine_half.h"
#include "machine_lanes.h"

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

constexpr int MODES[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

template <class To, class From, class F>
const Instruction* rounded(const Instruction* i, Warp& w, F f) {
    Lane<To>* d = lanes<To>(w, i->d);
    const Lane<From>* a = lanes<From>(w, i->a);
    fesetround(MODES[further_operands(*i) & 3]);
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

ALWAYS_INLINE f32 canonical(f32 a) { return a == a ? a : bits<f32>(0x7fffffffu); }

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
OP1(cvt_rni_u32_f32, u32, f32, integer_of<u32>(std::nearbyint(a)))
OP1(cvt_rni_s32_f32, s32, f32, integer_of<s32>(std::nearbyint(a)))
OP1(cvt_rni_u64_f32, u64, f32, integer_of<u64>(std::nearbyint(a)))
OP1(cvt_rni_s64_f32, s64, f32, integer_of<s64>(std::nearbyint(a)))
OP1(cvt_rzi_f32, f32, f32, canonical(std::trunc(a)))
OP1(cvt_rzi_u32_f32, u32, f32, integer_of<u32>(std::trunc(a)))
OP1(cvt_rzi_s32_f32, s32, f32, integer_of<s32>(std::trunc(a)))
OP1(cvt_rzi_u64_f32, u64, f32, integer_of<u64>(std::trunc(a)))
OP1(cvt_rzi_s64_f32, s64, f32, integer_of<s64>(std::trunc(a)))
OP1(cvt_rmi_f32, f32, f32, canonical(std::floor(a)))
OP1(cvt_rmi_u32_f32, u32, f32, integer_of<u32>(std::floor(a)))
OP1(cvt_rmi_s32_f32, s32, f32, integer_of<s32>(std::floor(a)))
OP1(cvt_rmi_u64_f32, u64, f32, integer_of<u64>(std::floor(a)))
OP1(cvt_rmi_s64_f32, s64, f32, integer_of<s64>(std::floor(a)))
OP1(cvt_rpi_f32, f32, f32, canonical(std::ceil(a)))
OP1(cvt_rpi_u32_f32, u32, f32, integer_of<u32>(std::ceil(a)))
OP1(cvt_rpi_s32_f32, s32, f32, integer_of<s32>(std::ceil(a)))
OP1(cvt_rpi_u64_f32, u64, f32, integer_of<u64>(std::ceil(a)))
OP1(cvt_rpi_s64_f32, s64, f32, integer_of<s64>(std::ceil(a)))
OP1(cvt_f32_u32, f32, u32, f32(a))
ROUNDED_CONVERSION(cvt_f32_u32_rounded, f32, u32)
OP1(cvt_f32_s32, f32, s32, f32(a))
ROUNDED_CONVERSION(cvt_f32_s32_rounded, f32, s32)
OP1(cvt_f32_u64, f32, u64, f32(a))
ROUNDED_CONVERSION(cvt_f32_u64_rounded, f32, u64)
OP1(cvt_f32_s64, f32, s64, f32(a))
ROUNDED_CONVERSION(cvt_f32_s64_rounded, f32, s64)
OP1(cvt_rni_f64, f64, f64, std::nearbyint(a))
OP1(cvt_rni_u32_f64, u32, f64, integer_of<u32>(std::nearbyint(a)))
OP1(cvt_rni_s32_f64, s32, f64, integer_of<s32>(std::nearbyint(a)))
OP1(cvt_rni_u64_f64, u64, f64, integer_of<u64>(std::nearbyint(a)))
OP1(cvt_rni_s64_f64, s64, f64, integer_of<s64>(std::nearbyint(a)))
OP1(cvt_rzi_f64, f64, f64, std::trunc(a))
OP1(cvt_rzi_u32_f64, u32, f64, integer_of<u32>(std::trunc(a)))
OP1(cvt_rzi_s32_f64, s32, f64, integer_of<s32>(std::trunc(a)))
OP1(cvt_rzi_u64_f64, u64, f64, integer_of<u64>(std::trunc(a)))
OP1(cvt_rzi_s64_f64, s64, f64, integer_of<s64>(std::trunc(a)))
OP1(cvt_rmi_f64, f64, f64, std::floor(a))
OP1(cvt_rmi_u32_f64, u32, f64, integer_of<u32>(std::floor(a)))
OP1(cvt_rmi_s32_f64, s32, f64, integer_of<s32>(std::floor(a)))
OP1(cvt_rmi_u64_f64, u64, f64, integer_of<u64>(std::floor(a)))
OP1(cvt_rmi_s64_f64, s64, f64, integer_of<s64>(std::floor(a)))
OP1(cvt_rpi_f64, f64, f64, std::ceil(a))
OP1(cvt_rpi_u32_f64, u32, f64, integer_of<u32>(std::ceil(a)))
OP1(cvt_rpi_s32_f64, s32, f64, integer_of<s32>(std::ceil(a)))
OP1(cvt_rpi_u64_f64, u64, f64, integer_of<u64>(std::ceil(a)))
OP1(cvt_rpi_s64_f64, s64, f64, integer_of<s64>(std::ceil(a)))
OP1(cvt_f64_u32, f64, u32, f64(a))
ROUNDED_CONVERSION(cvt_f64_u32_rounded, f64, u32)
OP1(cvt_f64_s32, f64, s32, f64(a))
ROUNDED_CONVERSION(cvt_f64_s32_rounded, f64, s32)
OP1(cvt_f64_u64, f64, u64, f64(a))
ROUNDED_CONVERSION(cvt_f64_u64_rounded, f64, u64)
OP1(cvt_f64_s64, f64, s64, f64(a))
ROUNDED_CONVERSION(cvt_f64_s64_rounded, f64, s64)

OP1(cvt_f64_f32, f64, f32, a)
OP1(cvt_f32_f64, f32, f64, f32(a))
ROUNDED_CONVERSION(cvt_f32_f64_rounded, f32, f64)

OP1(cvt_f32_f16, f32, u16, canonical(Half::widened(a)))
OP1(cvt_f64_f16, f64, u16, Half::widened(a))
OP1(cvt_f16_f32, u16, f32, Half::narrowed(a))
OP1(cvt_f16_f64, u16, f64, a == a ? Half::narrowed(a) : quieted(a))
HANDLER_OF(cvt_f16_f32_rounded, half_rounded<Half, f32>)
HANDLER_OF(cvt_f16_f64_rounded, half_rounded<Half, f64>)
OP1(cvt_f16_u32, u16, u32, Half::narrowed_integer(a))
OP1(cvt_f16_s32, u16, s32, Half::narrowed_integer(a))
OP1(cvt_f16_u64, u16, u64, Half::narrowed_integer(a))
OP1(cvt_f16_s64, u16, s64, Half::narrowed_integer(a))
OP1(relu_f16, u16, u16, Half::relu(a))
OP1(saturate_f16, u16, u16, Half::saturated(a))
OP1(cvt_f32_bf16, f32, u16, Brain::widened(a))
OP1(cvt_f64_bf16, f64, u16, Brain::widened(a))
OP1(cvt_bf16_f32, u16, f32, Brain::narrowed(a))
OP1(cvt_bf16_f64, u16, f64, Brain::narrowed(a))
HANDLER_OF(cvt_bf16_f32_rounded, half_rounded<Brain, f32>)
HANDLER_OF(cvt_bf16_f64_rounded, half_rounded<Brain, f64>)
OP1(cvt_bf16_u32, u16, u32, Brain::narrowed_integer(a))
OP1(cvt_bf16_s32, u16, s32, Brain::narrowed_integer(a))
OP1(cvt_bf16_u64, u16, u64, Brain::narrowed_integer(a))
OP1(cvt_bf16_s64, u16, s64, Brain::narrowed_integer(a))
OP1(relu_bf16, u16, u16, Brain::relu(a))
OP1(saturate_bf16, u16, u16, Brain::saturated(a))

}  // namespace cutune

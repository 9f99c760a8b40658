// Conversions in every direction of rounding, and 16-bit floating types.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels.h"

using Brain = __nv_bfloat16;

// NaN gives 0, and the lowest integer where either side has 64 bits.
template <class To, class From> HD To integer_of(From x, bool wide) {
    const To lowest = To(-1) < 0 ? To(1) << (8 * sizeof(To) - 1) : To(0);
    const From above = (To(-1) < 0 ? From(1) : From(2)) * From(1ull << (8 * sizeof(To) - 1));
    if (x != x) return wide ? To(1) << (8 * sizeof(To) - 1) : To(0);
    return x >= above ? To(~lowest) : x <= From(lowest) ? lowest : To(x);
}
#define INTEGER(suffix, mode, To, wide, prefix, name) \
    EITHER(__##prefix##2##name##_##suffix(x), (integer_of<To>(TOWARDS(mode, nearbyint(x)), wide)))
#define ALL_INTEGERS(prefix, name, To, wide)                                                    \
    INTEGER(rn, NEAREST, To, wide, prefix, name), INTEGER(rz, TO_ZERO, To, wide, prefix, name), \
        INTEGER(ru, UP, To, wide, prefix, name), INTEGER(rd, DOWN, To, wide, prefix, name)

struct Integers {
    s32 s[4];
    u32 u[4];
    s64 l[4];
    u64 m[4];
};
HD float to_convert(u32 i) {
    return word(i, 7) % 3 ? any_single(i)
                          : (tame_single(i) * 256 + 0.5f) * float(1ull << word(i, 8) % 60);
}
BOTH(integers_of_singles, Integers, 2000) {
    const float x = to_convert(i);
    return {{ALL_INTEGERS(float, int, s32, false)},
            {ALL_INTEGERS(float, uint, u32, false)},
            {ALL_INTEGERS(float, ll, s64, true)},
            {ALL_INTEGERS(float, ull, u64, true)}};
}
BOTH(integers_of_doubles, Integers, 2000) {
    const double x = word(i, 7) % 3
                         ? any_double(i)
                         : (tame_double(i) * 256 + 0.5) * double(1ull << word(i, 8) % 60);
    return {{ALL_INTEGERS(double, int, s32, true)},
            {ALL_INTEGERS(double, uint, u32, true)},
            {ALL_INTEGERS(double, ll, s64, true)},
            {ALL_INTEGERS(double, ull, u64, true)}};
}

#define FLOATING(suffix, mode, To, name, type) \
    bits(EITHER(__##name##2##type##_##suffix(x), TOWARDS(mode, To(x))))
#define ALL_FLOATING(name, To, type)                                              \
    FLOATING(rn, NEAREST, To, name, type), FLOATING(rz, TO_ZERO, To, name, type), \
        FLOATING(ru, UP, To, name, type), FLOATING(rd, DOWN, To, name, type)
BOTH(singles_of_integers, Words<16>, 1000) {
    Words<16> r;
    const auto put = [&](int at, Words<4> w) { memcpy(&r.at[at], &w, sizeof w); };
    {
        const s32 x = s32(any32(i));
        put(0, {{ALL_FLOATING(int, float, float)}});
    }
    {
        const u32 x = any32(i);
        put(4, {{ALL_FLOATING(uint, float, float)}});
    }
    {
        const s64 x = s64(any64(i));
        put(8, {{ALL_FLOATING(ll, float, float)}});
    }
    {
        const u64 x = any64(i);
        put(12, {{ALL_FLOATING(ull, float, float)}});
    }
    return r;
}
BOTH(doubles_of_integers, Longs<10>, 1000) {
    Longs<10> r;
    {
        const s64 x = s64(any64(i));
        const Longs<4> w = {{ALL_FLOATING(ll, double, double)}};
        memcpy(&r.at[0], &w, sizeof w);
    }
    {
        const u64 x = any64(i);
        const Longs<4> w = {{ALL_FLOATING(ull, double, double)}};
        memcpy(&r.at[4], &w, sizeof w);
    }
    r.at[8] = bits(double(s32(any32(i))));
    r.at[9] = bits(double(any32(i)));
    return r;
}
BOTH(singles_of_doubles, Words<6>, 2000) {
    double x = any_double(i);
    const Words<4> w = {{ALL_FLOATING(double, float, float)}};
    if (i & 1) x = double(any_single(i)) * (1 + 0x1p-24);
    const u64 pattern = bits(x);
    return {{w.at[0], w.at[1], w.at[2], w.at[3], bits(float(x)),
             EITHER(u32(__double2hiint(x == x ? x : 1)) ^ u32(__double2loint(x == x ? x : 1)),
                    x == x ? u32(pattern >> 32) ^ u32(pattern) : 0x3ff00000)}};
}

// What casts and assignments of narrow types do; saturation by hand.
BOTH(narrow_conversions, Words<6>, 2000) {
    const float x = tame_single(i) * 200;
    const double y = tame_double(i) * 40000;
    const s64 n = s64(any64(i));
    const s32 k = s32(x), m = s32(y);
    const u8 byte = u8(k < 0 ? 0 : k > 255 ? 255 : k);
    const s8 small = s8(m < -128 ? -128 : m > 127 ? 127 : m);
    return {{u32(s8(k)) ^ u32(u16(m)) << 16, u32(s16(m)) + byte, u32(small),
             bits(float(s8(n)) + float(u16(n))), bits(float(s16(m)) * 0.5f),
             u32(bits(double(s16(n)) - double(u8(n))) >> 32)}};
}

HD u16 bits(half x) {
    const u16 b = EITHER(__half_as_ushort(x), *(u16 *)&x);
    return (b & 0x7fff) > 0x7c00 ? 0x7fff : b;
}
HD u16 bits(Brain x) {
    const u16 b = EITHER(__bfloat16_as_ushort(x), *(u16 *)&x);
    return (b & 0x7fff) > 0x7f80 ? 0x7fff : b;
}
HD half half_of(u16 x) { return EITHER(__ushort_as_half(x), *(half *)&x); }
HD Brain brain_of(u16 x) { return EITHER(__ushort_as_bfloat16(x), *(Brain *)&x); }
template <class T> HD T any(u32 i, u32 k) {
    const u32 x = word(i, k), how = word(i, k + 900), sign = x & 0x8000;
    const bool half_precision = std::is_same<T, half>::value;
    const u32 infinite = half_precision ? 0x7c00 : 0x7f80, one = half_precision ? 0x3c00 : 0x3f80;
    u32 b = x & 0xffff;
    switch (how & 7) {
    case 0: b = sign; break;
    case 1: b = sign | (x & (half_precision ? 0x3ff : 0x7f)); break;
    case 2: b = sign | (infinite + (x & 1)); break;
    case 3: b = sign | (infinite - 1 - (x & 3)); break;
    case 4: break;
    default: b = sign | (one - 0x600 + x % 0xc00);
    }
    if constexpr (std::is_same<T, half>::value)
        return half_of(u16(b));
    else
        return brain_of(u16(b));
}

struct Shorts {
    u16 at[16];
};
BOTH(halves_of_singles, Shorts, 2000) {
    const float x =
        word(i, 7) % 3 ? any_single(i) : tame_single(i) * float(1 << word(i, 8) % 20) * 0x1p-6f;
    const half2 both = __floats2half2_rn(x, -x);
    return {{bits(__float2half_rn(x)), bits(__float2half_rz(x)), bits(__float2half_ru(x)),
             bits(__float2half_rd(x)), bits(__float2bfloat16_rn(x)), bits(__float2bfloat16_rz(x)),
             bits(__float2bfloat16_ru(x)), bits(__float2bfloat16_rd(x)),
             bits(__double2half(double(x))), bits(__low2half(both)), bits(__high2half(both))}};
}

BOTH(singles_of_halves, Words<4>, 2000) {
    const half a = half_of(u16(i * 33));
    const Brain b = brain_of(u16(i * 33));
    return {{bits(__half2float(a)), bits(__bfloat162float(b)), bits(float(a) + float(b)),
             u32(bits(double(__half2float(a))) >> 29)}};
}

DEVICE(integers_and_halves, Words<12>, 2000) {
    const half a = any<half>(i, 0);
    const s32 n = s32(any32(i, 1));
    const s64 m = s64(any64(i, 2));
    return {{u32(__half2int_rn(a)), u32(__half2int_rz(a)), u32(__half2int_ru(a)),
             u32(__half2int_rd(a)), __half2uint_rz(a),
             u32(u16(__half2short_rn(a))) | u32(__half2ushort_rd(a)) << 16,
             u32(__half2ll_ru(a)) ^ u32(__half2ull_rz(a) >> 32),
             bits(__int2half_rn(n)) | u32(bits(__int2half_rz(n))) << 16,
             bits(__int2half_ru(n)) | u32(bits(__int2half_rd(n))) << 16,
             bits(__uint2half_rn(u32(n))) | u32(bits(__short2half_rn(short(n)))) << 16,
             bits(__ll2half_rn(m)) | u32(bits(__ull2half_rd(u64(m)))) << 16,
             u32(bits(hfloor(a))) | u32(bits(hrint(a))) << 16}};
}

template <class T> HD Shorts arithmetic(u32 i) {
    const T a = any<T>(i, 0), b = any<T>(i, 1);
    return {{bits(__hadd(a, b)), bits(__hsub(a, b)), bits(__hmul(a, b)), bits(__hneg(a)),
             bits(__habs(b)),
             u16(__heq(a, b) | __hne(a, b) << 1 | __hlt(a, b) << 2 | __hle(a, b) << 3 |
                 __hgt(a, b) << 4 | __hge(a, b) << 5 | __hequ(a, b) << 6 | __hltu(a, b) << 7 |
                 __hisnan(a) << 8 | (__hisinf(b) != 0) << 9)}};
}
BOTH(half_arithmetic, Shorts, 3000) { return arithmetic<half>(i); }
BOTH(brain_arithmetic, Shorts, 3000) { return arithmetic<Brain>(i); }

template <class T> __device__ Shorts fused_arithmetic(u32 i) {
    const T a = any<T>(i, 0), b = any<T>(i, 1), c = any<T>(i, 2);
    return {{bits(__hfma(a, b, c)), bits(__hfma_sat(a, b, c)), bits(__hfma_relu(a, b, c)),
             bits(__hadd_sat(a, b)), bits(__hmul_sat(a, b)), bits(__hmin(a, b)), bits(__hmax(a, b)),
             bits(__hmin_nan(a, b)), bits(__hmax_nan(a, b)), bits(__hadd_rn(__hmul_rn(a, b), c)),
             bits(__hsub_sat(a, b))}};
}
DEVICE(half_fused, Shorts, 3000) { return fused_arithmetic<half>(i); }
DEVICE(brain_fused, Shorts, 3000) { return fused_arithmetic<Brain>(i); }

// Packed operations: a dot product, a polynomial, comparisons into masks.
template <class T2, class T> __device__ Shorts packed(u32 i) {
    T2 total = {any<T>(i, 0), any<T>(i, 1)}, largest = total;
    unsigned mask = 0;
    for (u32 k = 0; k < 8; ++k) {
        const T2 a = {any<T>(i, 2 + k), any<T>(i, 20 + k)},
                 b = {any<T>(i, 40 + k), any<T>(i, 60 + k)};
        const T2 next = __hfma2(a, b, total);
        if (!__hisnan(next.x) && !__hisnan(next.y)) total = next;
        largest = __hmax2(largest, __habs2(__hadd2(a, __hneg2(b))));
        mask ^= __hlt2_mask(a, b) ^ __hgeu2_mask(b, a) << 1;
        mask += __hbeq2(a, b) + 2 * __hbne2(a, a) + 4 * __hbleu2(a, b);
    }
    const T2 swapped = __lowhigh2highlow(total), scaled = __hmul2(swapped, largest);
    return {{bits(total.x), bits(total.y), bits(largest.x), bits(largest.y), u16(mask),
             u16(mask >> 16), bits(swapped.x), bits(scaled.y)}};
}
DEVICE(packed_halves, Shorts, 500) { return packed<half2, half>(i); }
DEVICE(packed_brains, Shorts, 500) { return packed<__nv_bfloat162, Brain>(i); }

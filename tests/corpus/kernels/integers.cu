// Integer arithmetic: products and quotients of all widths, carries, bits, packed bytes.
#include "kernels.h"

BOTH(products, Longs<6>, 1000) {
    const u32 a = any32(i, 0), b = any32(i, 1);
    const u64 c = any64(i, 2), d = any64(i, 3);
    return {{u64(a) * b, u64(s64(s32(a)) * s32(b)), c * d, u64(a) * d,
             EITHER(__umul64hi(c, d), u64(u128(c) * d >> 64)),
             EITHER(u64(__mul64hi(c, d)), u64(s128(s64(c)) * s64(d) >> 64))}};
}

BOTH(high_products, Words<6>, 1000) {
    const u32 a = any32(i, 0), b = any32(i, 1);
    const s32 c = s32(a) << 8 >> 8, d = s32(b) << 8 >> 8;
    return {{EITHER(__umulhi(a, b), u32(u64(a) * b >> 32)),
             EITHER(u32(__mulhi(a, b)), u32(s64(s32(a)) * s32(b) >> 32)),
             EITHER(u32(__mul24(a, b)), u32(s64(c) * d)),
             EITHER(__umul24(a, b), (a & 0xffffff) * (b & 0xffffff)), a * b + 7,
             u32(c) * u32(d) - a}};
}

// Four words and a carry through all of them.
BOTH(carries, Longs<8>, 1000) {
    u64 a[4], b[4];
    Longs<8> r;
    for (int k = 0; k < 4; ++k) {
        a[k] = word(i, k + 30) % 3 ? any64(i, k) : ~0ull;
        b[k] = word(i, k + 40) % 3 ? any64(i, k + 4) : 0;
    }
    u128 sum = i & 1;
    s128 difference = 0;
    for (int k = 0; k < 4; ++k) {
        sum += u128(a[k]) + b[k];
        r.at[k] = u64(sum);
        sum >>= 64;
        difference += s128(u128(a[k])) - s128(u128(b[k]));
        r.at[4 + k] = u64(difference);
        difference >>= 64;
    }
    return r;
}

// 128 by 128 bits by hand: as multi-precision libraries write it for GPUs.
BOTH(long_multiplication, Words<8>, 1000) {
    u32 a[4], b[4];
    Words<8> r = {};
    for (int k = 0; k < 4; ++k) a[k] = any32(i, k), b[k] = any32(i, k + 4);
    for (int j = 0; j < 4; ++j) {
#ifdef __CUDA_ARCH__
        asm("mad.lo.cc.u32 %0, %5, %9, %0; madc.lo.cc.u32 %1, %6, %9, %1; madc.lo.cc.u32 %2, %7, "
            "%9, %2;"
            "madc.lo.cc.u32 %3, %8, %9, %3; addc.u32 %4, %4, 0;"
            : "+r"(r.at[j]), "+r"(r.at[j + 1]), "+r"(r.at[j + 2]), "+r"(r.at[j + 3]),
              "+r"(r.at[j + 4])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[j]));
        asm("mad.hi.cc.u32 %0, %4, %8, %0; madc.hi.cc.u32 %1, %5, %8, %1; madc.hi.cc.u32 %2, %6, "
            "%8, %2;"
            "madc.hi.u32 %3, %7, %8, %3;"
            : "+r"(r.at[j + 1]), "+r"(r.at[j + 2]), "+r"(r.at[j + 3]), "+r"(r.at[j + 4])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[j]));
#else
        u64 carry = 0;
        for (int k = 0; k < 4; ++k) {
            carry += u64(a[k]) * b[j] + r.at[j + k];
            r.at[j + k] = u32(carry);
            carry >>= 32;
        }
        r.at[j + 4] = u32(carry);
#endif
    }
    return r;
}

BOTH(quotients, Words<8>, 2000) {
    const u32 a = any32(i, 0), b = any32(i, 1) | (any32(i, 1) == 0);
    const s32 c = s32(a), d = b == ~0u ? 3 : s32(b);
    return {{a / b, a % b, u32(c / d), u32(c % d), a / 7, u32(c / 10), u32(c % -13), a % 641}};
}

BOTH(long_quotients, Longs<8>, 1000) {
    const u64 a = any64(i, 0), b = any64(i, 1) | (any64(i, 1) == 0);
    const s64 c = s64(a), d = b == ~0ull ? 3 : s64(b);
    return {{a / b, a % b, u64(c / d), u64(c % d), a / 1000000007, u64(c / -1000), u64(c % 60),
             a % 0x100000001ull}};
}

BOTH(quotients_128, Longs<4>, 200) {
    const u128 a = u128(any64(i, 0)) << 64 | any64(i, 1);
    const u128 b = (u128(word(i, 9) % 2 ? 0 : any64(i, 2)) << 64 | any64(i, 3)) | 1;
    const u128 q = a / b, r = a % b;
    return {{u64(q), u64(q >> 64), u64(r), u64(r >> 64)}};
}

BOTH(narrow_types, Words<6>, 1000) {
    const u8 a = u8(word(i, 0)), b = u8(word(i, 1) | 1);
    const s8 c = s8(a), d = s8(b);
    const s16 e = s16(word(i, 2)), f = s16(word(i, 3) | 1);
    const u16 g = u16(e), h = u16(f);
    u8 wrapped = a;
    wrapped += b;
    s8 shifted = s8(c >> 3);
    shifted ^= d;
    return {{u32(u8(a * b)) | u32(wrapped) << 8 | u32(u8(shifted)) << 16,
             u32(u8(c / d)) | u32(u8(a % b)) << 8, u32(s16(e * f)), u32(e / f) ^ u32(e % f) << 16,
             u32(u16(g / h)) | u32(u16(g * h)) << 16,
             u32(s8(e)) + u32(u16(c)) + (a < c) + (g > f) * 2 + (b == d) * 4}};
}

BOTH(shifts, Longs<6>, 1000) {
    const u64 a = any64(i, 0);
    const u32 b = any32(i, 1), n = word(i, 2) & 63, m = word(i, 3) & 31;
    return {{a << n, a >> n, u64(s64(a) >> n), a << n | a >> (64 - n & 63),
             u64(b << m) << 32 | b >> m,
             u64(u32(s32(b) >> m)) << 32 | (b << m | b >> (32 - m & 31))}};
}

BOTH(funnel_shifts, Words<4>, 1000) {
    const u32 low = any32(i, 0), high = any32(i, 1), n = word(i, 2) & 63;
    [[maybe_unused]] const u64 pair = u64(high) << 32 | low;
    [[maybe_unused]] const u32 clamped = n < 32 ? n : 32;
    return {{EITHER(__funnelshift_l(low, high, n), u32(pair << (n & 31) >> 32)),
             EITHER(__funnelshift_lc(low, high, n), u32(pair << clamped >> 32)),
             EITHER(__funnelshift_r(low, high, n), u32(pair >> (n & 31))),
             EITHER(__funnelshift_rc(low, high, n), u32(pair >> clamped))}};
}

BOTH(bit_counts, Words<8>, 1000) {
    const u32 a = any32(i, 0);
    const u64 b = any64(i, 1);
    u64 mirrored = 0;
    for (int k = 0; k < 64; ++k) mirrored |= (b >> k & 1) << (63 - k);
    return {{EITHER(u32(__popc(a)), u32(__builtin_popcount(a))),
             EITHER(u32(__popcll(b)), u32(__builtin_popcountll(b))),
             EITHER(u32(__clz(a)), u32(a ? __builtin_clz(a) : 32)),
             EITHER(u32(__clzll(b)), u32(b ? __builtin_clzll(b) : 64)),
             EITHER(u32(__ffs(a)), u32(__builtin_ffs(a))),
             EITHER(u32(__ffsll(b)), u32(__builtin_ffsll(b))),
             EITHER(__brev(u32(b)), u32(mirrored >> 32)), EITHER(u32(__brevll(b)), u32(mirrored))}};
}

BOTH(byte_permutations, Words<4>, 1000) {
    const u32 a = word(i, 0), b = word(i, 1), s = word(i, 2) & 0x7777;
    u32 host = 0;
    for (int k = 0; k < 4; ++k)
        host |= u32((u64(b) << 32 | a) >> 8 * (s >> 4 * k & 7) & 255) << 8 * k;
    const u32 swapped = a << 24 | (a & 0xff00) << 8 | (a >> 8 & 0xff00) | a >> 24;
    return {{EITHER(__byte_perm(a, b, s), host), swapped, (a & 0xffff) | b << 16,
             u32(s8(a >> 8)) + u8(b >> 16)}};
}

BOTH(dot_products, Words<6>, 1000) {
    const u32 a = word(i, 0), b = word(i, 1), c = any32(i, 2);
    u32 plain = c, with_sign = c, pairs = c, signed_pairs = c, high = c;
    for (int k = 0; k < 4; ++k) {
        plain += (a >> 8 * k & 255) * (b >> 8 * k & 255);
        with_sign += s8(a >> 8 * k) * s8(b >> 8 * k);
    }
    for (int k = 0; k < 2; ++k) {
        pairs += u16(a >> 16 * k) * u8(b >> 8 * k);
        signed_pairs += s16(a >> 16 * k) * s8(b >> 8 * k);
        high += s16(a >> 16 * k) * s8(b >> (16 + 8 * k));
    }
    return {{EITHER(__dp4a(a, b, c), plain), EITHER(u32(__dp4a(s32(a), s32(b), s32(c))), with_sign),
             EITHER(__dp2a_lo(a, b, c), pairs),
             EITHER(u32(__dp2a_lo(s32(a), s32(b), s32(c))), signed_pairs),
             EITHER(u32(__dp2a_hi(s32(a), s32(b), s32(c))), high), plain ^ with_sign}};
}

// One lane of a packed operation on the host: bytes or halfwords.
template <class T, class F> HD u32 lanes(u32 a, u32 b, F f) {
    u32 r = 0;
    for (u32 k = 0; k < 32; k += 8 * sizeof(T))
        r |= (u32(f(T(a >> k), T(b >> k))) & (sizeof(T) == 1 ? 255 : 65535)) << k;
    return r;
}
template <class T> HD int clamp_to(int x) {
    const int low = T(-1) < 0 ? -(1 << (8 * sizeof(T) - 1)) : 0,
              high = low + (1 << 8 * sizeof(T)) - 1;
    return x < low ? low : x > high ? high : x;
}
#define PACKED(device, T, f) EITHER(device(a, b), (lanes<T>(a, b, [](int x, int y) { return f; })))

BOTH(packed_bytes, Words<12>, 1000) {
    const u32 a = word(i, 0), b = word(i, 1);
    return {{PACKED(__vadd4, u8, x + y), PACKED(__vsub4, u8, x - y),
             PACKED(__vaddss4, s8, clamp_to<s8>(x + y)), PACKED(__vaddus4, u8, clamp_to<u8>(x + y)),
             PACKED(__vsubss4, s8, clamp_to<s8>(x - y)), PACKED(__vmaxs4, s8, x > y ? x : y),
             PACKED(__vminu4, u8, x < y ? x : y), PACKED(__vavgu4, u8, (x + y + 1) >> 1),
             PACKED(__vabsdiffu4, u8, x > y ? x - y : y - x),
             PACKED(__vcmpgts4, s8, x > y ? 255 : 0), PACKED(__vseteq4, u8, x == y),
             PACKED(__vhaddu4, u8, (x + y) >> 1)}};
}

BOTH(packed_halfwords, Words<10>, 1000) {
    const u32 a = word(i, 0), b = word(i, 1);
    return {{PACKED(__vadd2, u16, x + y), PACKED(__vsub2, u16, x - y),
             PACKED(__vaddss2, s16, clamp_to<s16>(x + y)),
             PACKED(__vsubus2, u16, clamp_to<u16>(x - y)), PACKED(__vmaxu2, u16, x > y ? x : y),
             PACKED(__vmins2, s16, x < y ? x : y),
             PACKED(__vavgs2, s16, (x + y + (x + y >= 0)) >> 1),
             PACKED(__vcmpltu2, u16, x < y ? 65535 : 0),
             PACKED(__vabsdiffs2, s16, x > y ? x - y : y - x),
             EITHER(__vsadu2(a, b),
                    u32(abs(int(u16(a)) - u16(b)) + abs(int(a >> 16) - int(b >> 16))))}};
}

BOTH(averages_and_distances, Words<6>, 1000) {
    const s32 a = s32(any32(i, 0)), b = s32(any32(i, 1));
    const u32 c = u32(a), d = u32(b), e = word(i, 2);
    return {{EITHER(u32(__hadd(a, b)), u32((s64(a) + b) >> 1)),
             EITHER(u32(__rhadd(a, b)), u32((s64(a) + b + 1) >> 1)),
             EITHER(__uhadd(c, d), u32((u64(c) + d) >> 1)),
             EITHER(__urhadd(c, d), u32((u64(c) + d + 1) >> 1)),
             EITHER(__sad(a, b, e), e + (a > b ? c - d : d - c)),
             EITHER(__usad(c, d, e), e + (c > d ? c - d : d - c))}};
}

BOTH(number_theory, Words<5>, 500) {
    u32 a = word(i, 0) | 1, b = word(i, 1) >> 8 | 1;
    const u32 modulus = a;
    u64 power = 1, base = b % modulus;
    for (u32 e = word(i, 2) & 0xffff; e; e >>= 1) {
        if (e & 1) power = power * base % modulus;
        base = base * base % modulus;
    }
    while (b) {
        const u32 rest = a % b;
        a = b;
        b = rest;
    }
    u32 root = 0;
    const u32 square = word(i, 3);
    for (u32 bit = 1u << 15; bit; bit >>= 1)
        if (u64(root | bit) * (root | bit) <= square) root |= bit;
    u32 steps = 0;
    for (u64 n = i + 1; n != 1; ++steps) n = n & 1 ? 3 * n + 1 : n / 2;
    return {{a, u32(power), root, steps, modulus % 97}};
}

BOTH(curves, Words<4>, 1000) {
    u32 x = word(i, 0) & 0xffff, y = word(i, 1) & 0xffff, spread[2] = {x, y};
    for (u32 &s : spread) {
        s = (s | s << 8) & 0x00ff00ff;
        s = (s | s << 4) & 0x0f0f0f0f;
        s = (s | s << 2) & 0x33333333;
        s = (s | s << 1) & 0x55555555;
    }
    u32 hilbert = 0;
    for (u32 s = 1u << 15; s; s >>= 1) {
        const u32 right = (x & s) != 0, top = (y & s) != 0;
        hilbert += s * s * ((3 * right) ^ top);
        if (!top) {
            if (right) x = 65535 - x, y = 65535 - y;
            const u32 held = x;
            x = y;
            y = held;
        }
    }
    const u32 gray = i ^ i >> 1;
    return {{spread[0] | spread[1] << 1, hilbert, gray, x ^ y}};
}

struct Fields {
    u32 a : 3, b : 11;
    s32 c : 7;
    u32 d : 11;
    s64 e : 37;
    u64 f : 27;
};
BOTH(bit_fields, Longs<2>, 1000) {
    Fields x;
    memset(&x, 0, sizeof x);
    x.a = word(i, 0), x.b = word(i, 1), x.c = s32(word(i, 2)) >> 25, x.d = word(i, 3);
    x.e = s64(word64(i, 4)) >> 27, x.f = word(i, 5) & 0x7ffffff;
    x.b += x.a, x.d ^= u32(x.c), x.e -= s64(x.f), x.f = u64(x.e) & 0x7ffffff;
    if (x.c < 0) x.a = x.a + 5;
    Longs<2> r;
    memcpy(&r, &x, sizeof r);
    return r;
}

struct Text {
    char at[24];
};
BOTH(decimal_digits, Text, 500) {
    Text r = {};
    char reversed[24];
    const s64 value = s64(any64(i, 0));
    u64 rest = value < 0 ? 0 - u64(value) : u64(value);
    int n = 0, m = 0;
    do reversed[n++] = char('0' + rest % 10);
    while (rest /= 10);
    if (value < 0) r.at[m++] = '-';
    while (n) r.at[m++] = reversed[--n];
    return r;
}

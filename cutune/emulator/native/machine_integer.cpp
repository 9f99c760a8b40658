// Integer arithmetic, logic, bits and comparison. Signed overflow wraps (-fwrapv).
#include "machine_lanes.h"

namespace cutune {
namespace {

using u128 = unsigned __int128;
using s128 = __int128;

u64 reversed(u64 x) {
    x = (x >> 1 & 0x5555555555555555ull) | (x & 0x5555555555555555ull) << 1;
    x = (x >> 2 & 0x3333333333333333ull) | (x & 0x3333333333333333ull) << 2;
    x = (x >> 4 & 0x0f0f0f0f0f0f0f0full) | (x & 0x0f0f0f0f0f0f0f0full) << 4;
    return __builtin_bswap64(x);
}

ALWAYS_INLINE s32 saturated(s64 x) {
    return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : s32(x);
}

// Shifts: amounts of the width and more give zeros, or the sign for signed right shifts.
ALWAYS_INLINE u32 left(u32 a, u32 n, u32 width) { return n >= width ? 0 : a << n; }
ALWAYS_INLINE u64 left(u64 a, u32 n) { return n > 63 ? 0 : a << n; }
ALWAYS_INLINE u32 right(u32 a, u32 n, u32 width) { return n >= width ? 0 : a >> n; }
ALWAYS_INLINE u64 right(u64 a, u32 n) { return n > 63 ? 0 : a >> n; }
ALWAYS_INLINE s32 right_signed(s32 a, u32 n) { return a >> (n > 31 ? 31 : n); }
ALWAYS_INLINE s64 right_signed(s64 a, u32 n) { return a >> (n > 63 ? 63 : n); }

ALWAYS_INLINE u32 funnel_left(u32 low, u32 high, u32 n) {
    return u32((u64(high) << 32 | low) << n >> 32);
}
ALWAYS_INLINE u32 funnel_right(u32 low, u32 high, u32 n) {
    return u32((u64(high) << 32 | low) >> n);
}

// Position and length of a bit field are taken modulo 256 by the 32-bit operations; for 64 bits PTX
// leaves that open and a GPU does not.
ALWAYS_INLINE u32 bounded(u32 number, u32 width) { return width == 32 ? number & 255 : number; }
ALWAYS_INLINE u64 field_mask(u32 length) { return length >= 64 ? ~0ull : (1ull << length) - 1; }

ALWAYS_INLINE u64 extract(u64 a, u32 position, u32 length, u32 width) {
    position = bounded(position, width), length = bounded(length, width);
    if (position >= width) return 0;
    return (a >> position) & field_mask(length);
}

// Beyond the width the field is filled with its own top bit, or with the value's.
ALWAYS_INLINE s64 extract_signed(s64 a, u32 position, u32 length, u32 width) {
    position = bounded(position, width), length = bounded(length, width);
    if (length == 0) return 0;
    const u64 end = u64(position) + length - 1;
    const u32 top = end < width - 1 ? u32(end) : width - 1;
    const s64 fill = (a >> top & 1) ? -1 : 0;
    if (position >= width) return fill;
    const u32 kept = top - position + 1;
    const u64 mask = field_mask(kept);
    return s64((u64(a) >> position & mask) | (u64(fill) & ~mask));
}

ALWAYS_INLINE u64 insert(u64 a, u64 b, u32 position, u32 length, u32 width) {
    position = bounded(position, width), length = bounded(length, width);
    if (position >= width || length == 0) return b;
    const u64 mask = field_mask(length) << position;
    return (b & ~mask) | (a << position & mask);
}

ALWAYS_INLINE u32 highest_bit(u64 a) { return a ? 63 - __builtin_clzll(a) : ~0u; }
ALWAYS_INLINE u32 shift_amount(u32 highest, u32 width) {
    return highest == ~0u ? ~0u : width - 1 - highest;
}

ALWAYS_INLINE u32 byte_of(u64 pair, u32 selector) {
    const u32 byte = u32(pair >> 8 * (selector & 7)) & 255;
    return selector & 8 ? (byte & 128 ? 255 : 0) : byte;
}

ALWAYS_INLINE u32 permuted(u32 a, u32 b, u32 selector) {
    const u64 pair = u64(b) << 32 | a;
    return byte_of(pair, selector) | byte_of(pair, selector >> 4) << 8 |
           byte_of(pair, selector >> 8) << 16 | byte_of(pair, selector >> 12) << 24;
}

// The special modes of prmt, as selectors of the general one (PTX manual, table of prmt).
u32 permuted_forward(u32 a, u32 b, u32 c) {
    const u32 n = c & 3;
    return permuted(a, b, n | (n + 1) << 4 | (n + 2) << 8 | (n + 3) << 12);
}
u32 permuted_backward(u32 a, u32 b, u32 c) {
    const u32 n = c & 3;
    return permuted(a, b, n | ((n - 1) & 7) << 4 | ((n - 2) & 7) << 8 | ((n - 3) & 7) << 12);
}
u32 clamped_left(u32 k, u32 n) { return k > n ? k : n; }
u32 clamped_right(u32 k, u32 n) { return k < n ? k : n; }

ALWAYS_INLINE s32 product_24(s32 a, s32 b) {
    return s32((s64(a << 8 >> 8) * (b << 8 >> 8)));
}

template <class A, class B> ALWAYS_INLINE s32 dot4(u32 a, u32 b, u32 c) {
    s32 sum = s32(c);
    for (u32 k = 0; k < 4; k++) sum += s32(A(a >> 8 * k)) * s32(B(b >> 8 * k));
    return sum;
}

template <class A, class B> ALWAYS_INLINE s32 dot2(u32 a, u32 b, u32 c) {
    s32 sum = s32(c);
    for (u32 k = 0; k < 2; k++) sum += s32(A(a >> 16 * k)) * s32(B(b >> 8 * k));
    return sum;
}

// Differences of packed bytes or halfwords without sign, and their sum.
template <u32 WIDTH> ALWAYS_INLINE u32 differences(u32 a, u32 b) {
    u32 result = 0;
    for (u32 k = 0; k < 32; k += WIDTH) {
        const u32 x = a >> k & ((1u << WIDTH) - 1), y = b >> k & ((1u << WIDTH) - 1);
        result |= (x > y ? x - y : y - x) << k;
    }
    return result;
}
template <u32 WIDTH> ALWAYS_INLINE u32 distance(u32 a, u32 b) {
    const u32 each = differences<WIDTH>(a, b);
    u32 sum = 0;
    for (u32 k = 0; k < 32; k += WIDTH) sum += each >> k & ((1u << WIDTH) - 1);
    return sum;
}

ALWAYS_INLINE u32 pair(u32 low, u32 high) { return (low & 0xffff) | high << 16; }

ALWAYS_INLINE u32 bit_mask(u32 position, u32 count, bool wrap) {
    if (wrap) position &= 31, count &= 31;
    if (position > 31 || count == 0) return 0;
    const u32 ones = count > 31 ? ~0u : (1u << count) - 1;
    return ones << position;
}

// The position of the n-th set bit, counted from `base` upwards or downwards (PTX: fns).
u32 nth_set(u32 mask, u32 base, s32 offset) {
    if (offset == 0) return mask >> (base & 31) & 1 ? base : ~0u;
    const s32 step = offset > 0 ? 1 : -1;
    s32 left = offset > 0 ? offset : -offset;
    for (s32 k = s32(base); k >= 0 && k < 32; k += step)
        if ((mask >> k & 1) && --left == 0) return u32(k);
    return ~0u;
}

}  // namespace

// The operations of one width; products are computed as P, which is not narrower than int.
#define INTEGER_OPERATIONS(W, P) \
    OP2(add_b##W, u##W, u##W, u##W, a + b) \
    OP2(sub_b##W, u##W, u##W, u##W, a - b) \
    OP2(mul_b##W, u##W, u##W, u##W, P(a) * b) \
    OP3(mad_b##W, u##W, u##W, u##W, u##W, P(a) * b + c) \
    OP1(neg_b##W, u##W, u##W, -a) \
    OP1(mov_b##W, u##W, u##W, a) \
    OP2(and_b##W, u##W, u##W, u##W, a & b) \
    OP2(or_b##W, u##W, u##W, u##W, a | b) \
    OP2(xor_b##W, u##W, u##W, u##W, a ^ b) \
    OP1(not_b##W, u##W, u##W, ~a) \
    OP1(cnot_b##W, u##W, u##W, a == 0) \
    OP3(selp_b##W, u##W, u##W, u##W, pred, c ? a : b) \
    OP3(slct_b##W##_s32, u##W, u##W, u##W, s32, c >= 0 ? a : b) \
    OP3(slct_b##W##_f32, u##W, u##W, u##W, f32, c >= 0 ? a : b) \
    OP2(setp_eq_b##W, pred, u##W, u##W, a == b) \
    OP2(setp_ne_b##W, pred, u##W, u##W, a != b) \
    OP3(sad_u##W, u##W, u##W, u##W, u##W, u##W(c + (a < b ? u##W(b) - u##W(a) : u##W(a) - u##W(b)))) \
    EACH2(div_u##W, u##W, u##W, u##W, b == 0 ? u##W(-1) : a / b) \
    EACH2(rem_u##W, u##W, u##W, u##W, b == 0 ? u##W(-1) : a % b) \
    OP3(sad_s##W, u##W, s##W, s##W, u##W, u##W(c + (a < b ? u##W(b) - u##W(a) : u##W(a) - u##W(b)))) \
    OP1(abs_s##W, s##W, s##W, a < 0 ? -a : a) \
    EACH2(div_s##W, s##W, s##W, s##W, b == 0 ? -1 : b == -1 ? -a : a / b) \
    EACH2(rem_s##W, s##W, s##W, s##W, b == 0 ? -1 : b == -1 ? 0 : a % b)
INTEGER_OPERATIONS(16, u32)
INTEGER_OPERATIONS(32, u32)
INTEGER_OPERATIONS(64, u64)

MIXED_2(add_b32, u32, u32, u32)
MIXED_2(mul_b32, u32, u32, u32)
MIXED_2(add_b64, u64, u64, u64)
MIXED_2(setp_eq_b32, pred, u32, u32)
MIXED_2(setp_ne_b32, pred, u32, u32)

// The order of one type.
#define ORDER_OPERATIONS(T) \
    OP2(setp_lt_##T, pred, T, T, a < b) \
    OP2(setp_le_##T, pred, T, T, a <= b) \
    OP2(setp_gt_##T, pred, T, T, a > b) \
    OP2(setp_ge_##T, pred, T, T, a >= b) \
    OP2(min_##T, T, T, T, a < b ? a : b) \
    OP2(max_##T, T, T, T, a > b ? a : b)
ORDER_OPERATIONS(u16)
ORDER_OPERATIONS(s16)
ORDER_OPERATIONS(u32)
ORDER_OPERATIONS(s32)
ORDER_OPERATIONS(u64)
ORDER_OPERATIONS(s64)

// Both halves of a pair.
#define PAIR_ORDER_OPERATIONS(T) \
    OP2(min_##T##x2, u32, u32, u32, pair(std::min(T(a), T(b)), std::min(T(a >> 16), T(b >> 16)))) \
    OP2(max_##T##x2, u32, u32, u32, pair(std::max(T(a), T(b)), std::max(T(a >> 16), T(b >> 16))))
PAIR_ORDER_OPERATIONS(u16)
PAIR_ORDER_OPERATIONS(s16)

// The upper half of a product, and all of it: D is twice the width.
#define PRODUCT_OPERATIONS(W, D) \
    OP2(mul_hi_u##W, u##W, u##W, u##W, u##W((u##D(a) * b) >> W)) \
    OP3(mad_hi_u##W, u##W, u##W, u##W, u##W, u##W(((u##D(a) * b) >> W) + c)) \
    OP2(mul_wide_u##W, u##D, u##W, u##W, u##D(a) * b) \
    OP3(mad_wide_u##W, u##D, u##W, u##W, u##D, u##D(a) * b + c) \
    OP2(mul_hi_s##W, s##W, s##W, s##W, s##W((s##D(a) * b) >> W)) \
    OP3(mad_hi_s##W, s##W, s##W, s##W, s##W, s##W(((s##D(a) * b) >> W) + c)) \
    OP2(mul_wide_s##W, s##D, s##W, s##W, s##D(a) * b) \
    OP3(mad_wide_s##W, s##D, s##W, s##W, s##D, s##D(a) * b + c)
PRODUCT_OPERATIONS(16, 32)
PRODUCT_OPERATIONS(32, 64)
EACH2(mul_hi_u64, u64, u64, u64, u64((u128(a) * b) >> 64))
EACH3(mad_hi_u64, u64, u64, u64, u64, u64(((u128(a) * b) >> 64) + c))
EACH2(mul_hi_s64, s64, s64, s64, s64((s128(a) * b) >> 64))
EACH3(mad_hi_s64, s64, s64, s64, s64, s64(((s128(a) * b) >> 64) + c))

OP2(add_sat_s32, s32, s32, s32, saturated(s64(a) + b))
OP2(sub_sat_s32, s32, s32, s32, saturated(s64(a) - b))
OP3(mad_hi_sat_s32, s32, s32, s32, s32, saturated((s64(a) * b >> 32) + c))
OP2(mul24_lo_s32, s32, s32, s32, product_24(a, b))
OP2(mul24_lo_u32, u32, u32, u32, (a & 0xffffff) * (b & 0xffffff))
OP2(mul24_hi_s32, s32, s32, s32, s32(s64(a << 8 >> 8) * (b << 8 >> 8) >> 16))
OP2(mul24_hi_u32, u32, u32, u32, u32(u64(a & 0xffffff) * (b & 0xffffff) >> 16))
OP3(mad24_lo_s32, s32, s32, s32, s32, product_24(a, b) + c)
OP3(mad24_lo_u32, u32, u32, u32, u32, (a & 0xffffff) * (b & 0xffffff) + c)
OP3(mad24_hi_s32, s32, s32, s32, s32, s32(s64(a << 8 >> 8) * (b << 8 >> 8) >> 16) + c)
OP3(mad24_hi_u32, u32, u32, u32, u32, u32(u64(a & 0xffffff) * (b & 0xffffff) >> 16) + c)
OP3(dp4a_u32_u32, u32, u32, u32, u32, u32(dot4<u8, u8>(a, b, c)))
OP3(dp4a_s32_u32, u32, u32, u32, u32, u32(dot4<s8, u8>(a, b, c)))
OP3(dp4a_u32_s32, u32, u32, u32, u32, u32(dot4<u8, s8>(a, b, c)))
OP3(dp4a_s32_s32, u32, u32, u32, u32, u32(dot4<s8, s8>(a, b, c)))
OP3(dp2a_lo_u32_u32, u32, u32, u32, u32, u32(dot2<u16, u8>(a, b, c)))
OP3(dp2a_lo_s32_u32, u32, u32, u32, u32, u32(dot2<s16, u8>(a, b, c)))
OP3(dp2a_lo_u32_s32, u32, u32, u32, u32, u32(dot2<u16, s8>(a, b, c)))
OP3(dp2a_lo_s32_s32, u32, u32, u32, u32, u32(dot2<s16, s8>(a, b, c)))
OP3(dp2a_hi_u32_u32, u32, u32, u32, u32, u32(dot2<u16, u8>(a, b >> 16, c)))
OP3(dp2a_hi_s32_u32, u32, u32, u32, u32, u32(dot2<s16, u8>(a, b >> 16, c)))
OP3(dp2a_hi_u32_s32, u32, u32, u32, u32, u32(dot2<u16, s8>(a, b >> 16, c)))
OP3(dp2a_hi_s32_s32, u32, u32, u32, u32, u32(dot2<s16, s8>(a, b >> 16, c)))
OP3(vabsdiff2_u32_u32_u32, u32, u32, u32, u32, (void(c), differences<16>(a, b)))
OP3(vabsdiff2_u32_u32_u32_add, u32, u32, u32, u32, distance<16>(a, b) + c)
OP3(vabsdiff4_u32_u32_u32, u32, u32, u32, u32, (void(c), differences<8>(a, b)))
OP3(vabsdiff4_u32_u32_u32_add, u32, u32, u32, u32, distance<8>(a, b) + c)

OP2(and_pred, pred, pred, pred, a & b)
OP2(or_pred, pred, pred, pred, a | b)
OP2(xor_pred, pred, pred, pred, a != b)
OP1(not_pred, pred, pred, !a)
OP3(selp_pred, pred, pred, pred, pred, c ? a : b)

OP2(shl_b16, u16, u16, u32, left(a, b, 16))
OP2(shl_b32, u32, u32, u32, left(a, b, 32))
OP2(shl_b64, u64, u64, u32, left(a, b))
OP2(shr_u16, u16, u16, u32, right(a, b, 16))
OP2(shr_u32, u32, u32, u32, right(a, b, 32))
OP2(shr_u64, u64, u64, u32, right(a, b))
OP2(shr_s16, s16, s16, u32, right_signed(s32(a), b))
OP2(shr_s32, s32, s32, u32, right_signed(a, b))
OP2(shr_s64, s64, s64, u32, right_signed(a, b))
OP3(shf_l_wrap_b32, u32, u32, u32, u32, funnel_left(a, b, c & 31))
OP3(shf_l_clamp_b32, u32, u32, u32, u32, funnel_left(a, b, c > 32 ? 32 : c))
OP3(shf_r_wrap_b32, u32, u32, u32, u32, funnel_right(a, b, c & 31))
OP3(shf_r_clamp_b32, u32, u32, u32, u32, funnel_right(a, b, c > 32 ? 32 : c))

OP1(popc_b32, u32, u32, __builtin_popcount(a))
OP1(popc_b64, u32, u64, __builtin_popcountll(a))
OP1(clz_b32, u32, u32, a ? __builtin_clz(a) : 32)
OP1(clz_b64, u32, u64, a ? __builtin_clzll(a) : 64)
OP1(brev_b32, u32, u32, u32(reversed(a) >> 32))
OP1(brev_b64, u64, u64, reversed(a))
OP1(bfind_u32, u32, u32, highest_bit(a))
OP1(bfind_s32, u32, s32, highest_bit(u32(a < 0 ? ~a : a)))
OP1(bfind_u64, u32, u64, highest_bit(a))
OP1(bfind_s64, u32, s64, highest_bit(u64(a < 0 ? ~a : a)))
OP1(bfind_shiftamt_u32, u32, u32, shift_amount(highest_bit(a), 32))
OP1(bfind_shiftamt_s32, u32, s32, shift_amount(highest_bit(u32(a < 0 ? ~a : a)), 32))
OP1(bfind_shiftamt_u64, u32, u64, shift_amount(highest_bit(a), 64))
OP1(bfind_shiftamt_s64, u32, s64, shift_amount(highest_bit(u64(a < 0 ? ~a : a)), 64))
OP3(bfe_u32, u32, u32, u32, u32, u32(extract(a, b, c, 32)))
OP3(bfe_s32, s32, s32, u32, u32, s32(extract_signed(a, b, c, 32)))
OP3(bfe_u64, u64, u64, u32, u32, extract(a, b, c, 64))
OP3(bfe_s64, s64, s64, u32, u32, extract_signed(a, b, c, 64))
OP2(bmsk_clamp_b32, u32, u32, u32, bit_mask(a, b, false))
OP2(bmsk_wrap_b32, u32, u32, u32, bit_mask(a, b, true))
EACH3(fns_b32, u32, u32, u32, s32, nth_set(a, b, c))
OP3(prmt_b32, u32, u32, u32, u32, permuted(a, b, c))
EACH3(prmt_f4e_b32, u32, u32, u32, u32, permuted_forward(a, b, c))
EACH3(prmt_b4e_b32, u32, u32, u32, u32, permuted_backward(a, b, c))
EACH3(prmt_rc8_b32, u32, u32, u32, u32, permuted(a, b, (c & 3) * 0x1111))
EACH3(prmt_ecl_b32, u32, u32, u32, u32, permuted(a, b, clamped_left(0, c & 3) | clamped_left(1, c & 3) << 4 | clamped_left(2, c & 3) << 8 | 3 << 12))
EACH3(prmt_ecr_b32, u32, u32, u32, u32, permuted(a, b, clamped_right(1, c & 3) << 4 | clamped_right(2, c & 3) << 8 | (c & 3) << 12))
EACH3(prmt_rc16_b32, u32, u32, u32, u32, permuted(a, b, (c & 1) ? 0x3232 : 0x1010))

// Move between one wide register and two halves.
OP2(pack_b32, u32, u32, u32, pair(a, b))
OP2(pack_b64, u64, u32, u32, u64(b) << 32 | a)
OP1(low_b32, u32, u32, a & 0xffff)
OP1(high_b32, u32, u32, a >> 16)
OP1(low_b64, u32, u64, u32(a))
OP1(high_b64, u32, u64, u32(a >> 32))

// Four operands: the fourth (a register, or the constant of lop3) stands in `imm`.
template <class T> static const Instruction* insert_field(const Instruction* i, Warp& w) {
    T* d = lanes<T>(w, i->d);
    const T *a = lanes<T>(w, i->a), *b = lanes<T>(w, i->b);
    const u32 *position = w.narrow(i->c), *length = w.narrow(i->x);
    FOR_ACTIVE(w, l) d[l] = T(insert(a[l], b[l], position[l], length[l], 8 * sizeof(T)));
    return i + 1;
}
HANDLER_OF(bfi_b32, insert_field<u32>)
HANDLER_OF(bfi_b64, insert_field<u64>)

// Any function of three bits, by its truth table.
HANDLER(lop3_b32) {
    u32* d = w.narrow(i->d);
    const u32 *a = w.narrow(i->a), *b = w.narrow(i->b), *c = w.narrow(i->c);
    u32 when[8];
    for (u32 k = 0; k < 8; k++) when[k] = 0u - u32(i->imm >> k & 1);
#pragma GCC ivdep
    for (u32 l = 0; l < LANES; l++) {
        const u32 x = a[l], y = b[l], z = c[l];
        const u32 low = (~y & ((~z & when[0]) | (z & when[1]))) | (y & ((~z & when[2]) | (z & when[3])));
        const u32 high = (~y & ((~z & when[4]) | (z & when[5]))) | (y & ((~z & when[6]) | (z & when[7])));
        const u32 value = (~x & low) | (x & high);
        d[l] = w.active[l] ? value : d[l];
    }
    return i + 1;
}

// Carry chains: CC.CF is one bit per lane, kept in the warp.
enum : u32 { CARRY_IN = 1, CARRY_OUT = 2 };

template <class T, class F> static const Instruction* carry(const Instruction* i, Warp& w, F f) {
    using wide_t = unsigned __int128;
    T* d = lanes<T>(w, i->d);
    const T *a = lanes<T>(w, i->a), *b = lanes<T>(w, i->b), *c = lanes<T>(w, i->c);
    const u32 how = further_operands(*i);
    FOR_ACTIVE(w, l) {
        const u32 in = how & CARRY_IN ? w.carry >> l & 1 : 0;
        bool out = false;
        const wide_t sum = f(a[l], b[l], c[l], in, out);
        d[l] = T(sum);
        if (how & CARRY_OUT) w.carry = (w.carry & ~(1u << l)) | u32(out) << l;
    }
    return i + 1;
}

// With carry, d = a + b; the sum has one bit more than the type.
template <class T> static const Instruction* add_carry(const Instruction* i, Warp& w) {
    return carry<T>(i, w, [](T a, T b, T, u32 in, bool& out) {
        const u128 sum = u128(a) + b + in;
        out = sum >> (8 * sizeof(T)) & 1;
        return sum;
    });
}

// A difference is a sum with the complement: CC.CF is 1 when there was no borrow.
template <class T> static const Instruction* sub_carry(const Instruction* i, Warp& w) {
    const bool chained = further_operands(*i) & CARRY_IN;
    return carry<T>(i, w, [chained](T a, T b, T, u32 in, bool& out) {
        const u128 sum = u128(a) + T(~b) + (chained ? in : 1);
        out = sum >> (8 * sizeof(T)) & 1;
        return sum;
    });
}

template <class T, bool HIGH, bool SIGNED>
static const Instruction* mad_carry(const Instruction* i, Warp& w) {
    return carry<T>(i, w, [](T a, T b, T c, u32 in, bool& out) {
        constexpr u32 width = 8 * sizeof(T);
        using S = std::conditional_t<sizeof(T) == 4, s32, s64>;
        const u128 product = SIGNED ? u128(s128(S(a)) * S(b)) : u128(a) * b;
        const u128 sum = u128(T(HIGH ? product >> width : product)) + c + in;
        out = sum >> width & 1;
        return sum;
    });
}
HANDLER_OF(add_carry_b32, add_carry<u32>)
HANDLER_OF(add_carry_b64, add_carry<u64>)
HANDLER_OF(sub_carry_b32, sub_carry<u32>)
HANDLER_OF(sub_carry_b64, sub_carry<u64>)
HANDLER_OF(mad_carry_lo_b32, mad_carry<u32, false, false>)
HANDLER_OF(mad_carry_hi_u32, mad_carry<u32, true, false>)
HANDLER_OF(mad_carry_hi_s32, mad_carry<u32, true, true>)
HANDLER_OF(mad_carry_lo_b64, mad_carry<u64, false, false>)
HANDLER_OF(mad_carry_hi_u64, mad_carry<u64, true, false>)
HANDLER_OF(mad_carry_hi_s64, mad_carry<u64, true, true>)

}  // namespace cutune

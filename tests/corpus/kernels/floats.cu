// Single precision: every rounding, contraction, subnormal numbers, what libraries make of it.
#include "kernels.h"

// Sums and products in the four directions.
BOTH(rounded_sums, Words<12>, 2000) {
    const float a = any_single(i, 0), b = any_single(i, 1);
    return {
        {bits(EITHER(__fadd_rn(a, b), a + b)),
         bits(EITHER(__fadd_rz(a, b), TOWARDS(TO_ZERO, a + b))),
         bits(EITHER(__fadd_ru(a, b), TOWARDS(UP, a + b))),
         bits(EITHER(__fadd_rd(a, b), TOWARDS(DOWN, a + b))), bits(EITHER(__fsub_rn(a, b), a - b)),
         bits(EITHER(__fsub_rz(a, b), TOWARDS(TO_ZERO, a - b))),
         bits(EITHER(__fsub_ru(a, b), TOWARDS(UP, a - b))),
         bits(EITHER(__fsub_rd(a, b), TOWARDS(DOWN, a - b))), bits(EITHER(__fmul_rn(a, b), a * b)),
         bits(EITHER(__fmul_rz(a, b), TOWARDS(TO_ZERO, a * b))),
         bits(EITHER(__fmul_ru(a, b), TOWARDS(UP, a * b))),
         bits(EITHER(__fmul_rd(a, b), TOWARDS(DOWN, a * b)))}};
}

BOTH(rounded_quotients, Words<12>, 2000) {
    const float a = any_single(i, 0), b = any_single(i, 1), c = fabsf(a);
    return {{bits(EITHER(__fdiv_rn(a, b), a / b)),
             bits(EITHER(__fdiv_rz(a, b), TOWARDS(TO_ZERO, a / b))),
             bits(EITHER(__fdiv_ru(a, b), TOWARDS(UP, a / b))),
             bits(EITHER(__fdiv_rd(a, b), TOWARDS(DOWN, a / b))), bits(EITHER(__frcp_rn(b), 1 / b)),
             bits(EITHER(__frcp_rz(b), TOWARDS(TO_ZERO, 1 / b))),
             bits(EITHER(__frcp_ru(b), TOWARDS(UP, 1 / b))),
             bits(EITHER(__frcp_rd(b), TOWARDS(DOWN, 1 / b))),
             bits(EITHER(__fsqrt_rn(a), sqrtf(a))),
             bits(EITHER(__fsqrt_rz(c), TOWARDS(TO_ZERO, sqrtf(c)))),
             bits(EITHER(__fsqrt_ru(c), TOWARDS(UP, sqrtf(c)))),
             bits(EITHER(__fsqrt_rd(c), TOWARDS(DOWN, sqrtf(c))))}};
}

BOTH(fused, Words<6>, 2000) {
    const float a = any_single(i, 0), b = any_single(i, 1);
    const float c = word(i, 8) % 4 ? any_single(i, 2) : -a * b;
    return {{bits(EITHER(__fmaf_rn(a, b, c), fmaf(a, b, c))),
             bits(EITHER(__fmaf_rz(a, b, c), TOWARDS(TO_ZERO, fmaf(a, b, c)))),
             bits(EITHER(__fmaf_ru(a, b, c), TOWARDS(UP, fmaf(a, b, c)))),
             bits(EITHER(__fmaf_rd(a, b, c), TOWARDS(DOWN, fmaf(a, b, c)))), bits(fmaf(a, -b, c)),
             bits(fmaf(-a, b, -c))}};
}

// nvcc contracts sums whose products nothing else uses: the first three, never the others. What
// else it finds, a difference for one, it leaves to the assembler: none of that is here.
DEVICE(contracted, Words<6>, 2000) {
    const float a = tame_single(i, 0), b = tame_single(i, 1), c = tame_single(i, 2),
                d = tame_single(i, 3);
    return {{bits(a * b + c), bits(a * d - 0.5f), bits(a * a + b * b + c * c),
             bits(__fmul_rn(a, b) + c), bits(c - __fmul_rn(a, b)),
             bits(__fadd_rn(__fmul_rn(a, a), __fmul_rn(b, b)))}};
}

// Numbers that fade away and come back.
BOTH(gradual_underflow, Words<8>, 500) {
    float x = 1 + fabsf(tame_single(i)), y = x * 0x1p-120f, sum = 0;
    Words<8> r;
    for (int k = 0; k < 8; ++k) {
        for (int j = 0; j < 18; ++j) y = times(y, 0.5f + 0.25f * (j & 1)), sum += y;
        if (k > 3) y = times(y, 0x1p16f);
        r.at[k] = bits(k & 1 ? y : sum * 0.5f);
    }
    return r;
}

// Rounding errors as numbers: Dekker, Knuth, Kahan.
BOTH(error_free, Words<6>, 1000) {
    const float a = tame_single(i, 0), b = times(tame_single(i, 1), 0x1p-9f);
    const float sum = a + b, part = sum - a, lost = (a - (sum - part)) + (b - part);
    const float product = times(a, b), rest = fmaf(a, b, -product);
    float total = 0, carried = 0, naive = 0;
    for (u32 k = 0; k < 100; ++k) {
        const float x = times(tame_single(i, k), k % 7 ? 1 : 1000);
        const float y = x - carried, t = total + y;
        carried = (t - total) - y;
        total = t;
        naive += x;
    }
    return {{bits(sum), bits(lost), bits(product), bits(rest), bits(total), bits(naive)}};
}

BOTH(polynomials, Words<4>, 1000) {
    const float x = tame_single(i), square = times(x, x);
    float exponential = 1.0f / 5040, clenshaw[3] = {}, continued = 1;
    for (int k = 6; k >= 0; --k) {
        static constexpr float factors[] = {1,         1,          0.5f,      1.0f / 6,
                                            1.0f / 24, 1.0f / 120, 1.0f / 720};
        exponential = fmaf(exponential, x, factors[k]);
    }
    for (int k = 12; k; --k) {
        clenshaw[2] = clenshaw[1], clenshaw[1] = clenshaw[0];
        clenshaw[0] = fmaf(2 * x, clenshaw[1], 1.0f / k) - clenshaw[2];
    }
    for (int k = 9; k; --k) continued = 2 * k + 1 - square / continued;
    return {{bits(exponential), bits(clenshaw[0]), bits(continued), bits(x / continued)}};
}

// A root, a cube root and a quotient by iterations that end where nothing changes any more.
BOTH(iterations, Words<6>, 500) {
    const float a = fmaf(50, fabsf(tame_single(i)), 1);
    float root = a, cube = a, inverse = 0.01f;
    u32 steps = 0, more = 0;
    for (float next; (next = times(0.5f, root + a / root)) < root; root = next) ++steps;
    for (float next; (next = (2 * cube + a / (cube * cube)) / 3) < cube; cube = next) ++more;
    for (int k = 0; k < 12; ++k) inverse = fmaf(inverse, fmaf(-a, inverse, 1.0f), inverse);
    return {{bits(root), bits(cube), bits(inverse), steps, more, bits(sqrtf(a) - root)}};
}

DEVICE(mandelbrot, Words<3>, 1024) {
    const float x = float(i % 32) / 12 - 2, y = float(i / 32) / 13 - 1.2f;
    float a = 0, b = 0;
    u32 n = 0;
    for (; n < 60; ++n) {
        const float aa = times(a, a), bb = times(b, b);
        if (aa + bb >= 4) break;
        b = 2 * a * b + y;
        a = aa - bb + x;
    }
    return {{n, bits(a), bits(b)}};
}

BOTH(rounded_to_integers, Words<6>, 2000) {
    const float a = word(i, 7) % 3 ? any_single(i) : tame_single(i) * float(1 << word(i, 8) % 26);
    const float half = float(s32(word(i, 9)) >> 20) + 0.5f;
    return {{bits(floorf(a)), bits(ceilf(a)), bits(truncf(a)), bits(rintf(a)), bits(roundf(a)),
             bits(rintf(half) + 16 * nearbyintf(half) + 256 * roundf(half))}};
}

// NaN, signed zeros and infinities in comparisons; minimum and maximum of zeros as PTX says.
DEVICE(compared, Words<5>, 2000) {
    const float a = any_single(i, 0), b = word(i, 7) % 5 ? any_single(i, 1) : -a;
    const u32 order = (a < b) | (a <= b) << 1 | (a == b) << 2 | (a != b) << 3 | (a > b) << 4 |
                      (a >= b) << 5 | !(a < b) << 6 | !(a >= b) << 7 | (a != a || b != b) << 8;
    const u32 kind = !!isnan(a) | !!isinf(a) << 1 | !!isfinite(a) << 2 | !!signbit(a) << 3;
    return {{order, kind, bits(fminf(a, b)), bits(fmaxf(a, b)),
             bits(copysignf(a, b)) ^ bits(fdimf(a, b))}};
}

DEVICE(taken_apart, Words<8>, 2000) {
    const float a = any_single(i, 0), b = any_single(i, 1);
    int exponent = 0;
    float whole = 0;
    const float mantissa = frexpf(a, &exponent), part = modff(a, &whole);
    const bool plain = isfinite(a) && a != 0;
    return {{bits(mantissa), plain ? u32(exponent) : 0, bits(part), bits(whole),
             bits(ldexpf(a, int(word(i, 5) % 300) - 150)), bits(logbf(a)), bits(nextafterf(a, b)),
             bits(scalbnf(a, int(word(i, 6) % 600) - 300))}};
}

// Library functions that are made of operations which IEEE 754 defines, and of nothing else.
DEVICE(functions, Words<9>, 1000) {
    const float x = times(tame_single(i, 0), i % 5 ? 10 : 100000), y = tame_single(i, 1);
    return {{bits(sinf(x)), bits(cosf(x)), bits(logf(fabsf(x))), bits(log2f(fabsf(y))),
             bits(log10f(fabsf(x))), bits(log1pf(x)), bits(sinpif(x)), bits(hypotf(x, y)),
             bits(atan2f(x, y))}};
}

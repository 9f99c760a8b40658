// Double precision: every rounding, contraction, pairs of doubles, small numerical methods.
#include "kernels.h"

BOTH(double_sums, Longs<12>, 1000) {
    const double a = any_double(i, 0), b = any_double(i, 1);
    return {
        {bits(EITHER(__dadd_rn(a, b), a + b)),
         bits(EITHER(__dadd_rz(a, b), TOWARDS(TO_ZERO, a + b))),
         bits(EITHER(__dadd_ru(a, b), TOWARDS(UP, a + b))),
         bits(EITHER(__dadd_rd(a, b), TOWARDS(DOWN, a + b))), bits(EITHER(__dsub_rn(a, b), a - b)),
         bits(EITHER(__dsub_rz(a, b), TOWARDS(TO_ZERO, a - b))),
         bits(EITHER(__dsub_ru(a, b), TOWARDS(UP, a - b))),
         bits(EITHER(__dsub_rd(a, b), TOWARDS(DOWN, a - b))), bits(EITHER(__dmul_rn(a, b), a * b)),
         bits(EITHER(__dmul_rz(a, b), TOWARDS(TO_ZERO, a * b))),
         bits(EITHER(__dmul_ru(a, b), TOWARDS(UP, a * b))),
         bits(EITHER(__dmul_rd(a, b), TOWARDS(DOWN, a * b)))}};
}

BOTH(double_quotients, Longs<12>, 1000) {
    const double a = any_double(i, 0), b = any_double(i, 1), c = fabs(a);
    return {{bits(EITHER(__ddiv_rn(a, b), a / b)),
             bits(EITHER(__ddiv_rz(a, b), TOWARDS(TO_ZERO, a / b))),
             bits(EITHER(__ddiv_ru(a, b), TOWARDS(UP, a / b))),
             bits(EITHER(__ddiv_rd(a, b), TOWARDS(DOWN, a / b))), bits(EITHER(__drcp_rn(b), 1 / b)),
             bits(EITHER(__drcp_rz(b), TOWARDS(TO_ZERO, 1 / b))),
             bits(EITHER(__drcp_ru(b), TOWARDS(UP, 1 / b))),
             bits(EITHER(__drcp_rd(b), TOWARDS(DOWN, 1 / b))), bits(EITHER(__dsqrt_rn(a), sqrt(a))),
             bits(EITHER(__dsqrt_rz(c), TOWARDS(TO_ZERO, sqrt(c)))),
             bits(EITHER(__dsqrt_ru(c), TOWARDS(UP, sqrt(c)))),
             bits(EITHER(__dsqrt_rd(c), TOWARDS(DOWN, sqrt(c))))}};
}

BOTH(double_fused, Longs<5>, 1000) {
    const double a = any_double(i, 0), b = any_double(i, 1);
    const double c = word(i, 8) % 4 ? any_double(i, 2) : -a * b;
    return {{bits(EITHER(__fma_rn(a, b, c), fma(a, b, c))),
             bits(EITHER(__fma_rz(a, b, c), TOWARDS(TO_ZERO, fma(a, b, c)))),
             bits(EITHER(__fma_ru(a, b, c), TOWARDS(UP, fma(a, b, c)))),
             bits(EITHER(__fma_rd(a, b, c), TOWARDS(DOWN, fma(a, b, c)))), bits(fma(-a, b, -c))}};
}

DEVICE(double_contracted, Longs<5>, 1000) {
    const double a = tame_double(i, 0), b = tame_double(i, 1), c = tame_double(i, 2),
                 d = tame_double(i, 3);
    return {{bits(a * b + c), bits(a * d - 0.5), bits(a * a + b * b + c * c),
             bits(__dmul_rn(a, b) + c), bits(c - __dmul_rn(a, b))}};
}

// Numbers of 106 bits as pairs: sums of a series, and what is left of e - 1 / (1 / e).
struct Pair {
    double high, low;
};
HD Pair quick(double a, double b) {
    const double s = a + b;
    return {s, b - (s - a)};
}
HD Pair sum(Pair a, Pair b) {
    const double s = a.high + b.high, v = s - a.high, lost = (a.high - (s - v)) + (b.high - v);
    return quick(s, lost + a.low + b.low);
}
HD Pair product(Pair a, Pair b) {
    const double p = times(a.high, b.high);
    return quick(p, fma(a.high, b.low, fma(a.low, b.high, fma(a.high, b.high, -p))));
}
HD Pair quotient(Pair a, Pair b) {
    const double q = a.high / b.high;
    const Pair back = product({-q, 0}, b), rest = sum(a, back);
    return quick(q, (rest.high + rest.low) / b.high);
}
BOTH(pairs_of_doubles, Longs<4>, 200) {
    const Pair x = {tame_double(i), 0x1p-60};
    Pair total = {1, 0}, term = {1, 0};
    for (int k = 1; k < 20; ++k) {
        term = quotient(product(term, x), {double(k), 0});
        total = sum(total, term);
    }
    const Pair back = quotient({1, 0}, quotient({1, 0}, total));
    const Pair rest = sum(total, {-back.high, -back.low});
    return {{bits(total.high), bits(total.low), bits(rest.high), bits(rest.low)}};
}

// Elimination with pivots in local memory, indexed dynamically; determinant and solution.
BOTH(elimination, Longs<7>, 100) {
    double a[6][7];
    int order[6];
    for (int r = 0; r < 6; ++r) {
        order[r] = r;
        for (int c = 0; c < 7; ++c) a[r][c] = tame_double(i, r * 7 + c);
    }
    double determinant = 1;
    for (int k = 0; k < 6; ++k) {
        int best = k;
        for (int r = k + 1; r < 6; ++r)
            if (fabs(a[order[r]][k]) > fabs(a[order[best]][k])) best = r;
        if (best != k) {
            const int held = order[k];
            order[k] = order[best], order[best] = held;
            determinant = -determinant;
        }
        const double pivot = a[order[k]][k];
        determinant *= pivot;
        for (int r = k + 1; r < 6; ++r) {
            const double factor = a[order[r]][k] / pivot;
            for (int c = k; c < 7; ++c)
                a[order[r]][c] = fma(-factor, a[order[k]][c], a[order[r]][c]);
        }
    }
    Longs<7> out;
    double x[6];
    for (int k = 5; k >= 0; --k) {
        double rest = a[order[k]][6];
        for (int c = k + 1; c < 6; ++c) rest = fma(-a[order[k]][c], x[c], rest);
        out.at[k] = bits(x[k] = rest / a[order[k]][k]);
    }
    out.at[6] = bits(determinant);
    return out;
}

// A chaotic orbit makes every bit count; nvcc chooses what it contracts.
DEVICE(orbits, Longs<5>, 200) {
    double x = 1 + tame_double(i, 0), y = tame_double(i, 1), z = 20 + tame_double(i, 2),
           logistic = 0.3 + 0.3 * fabs(y);
    for (int k = 0; k < 100; ++k) {
        const double h = 0.01, dx = 10 * (y - x), dy = fma(x, 28 - z, -y),
                     dz = fma(x, y, -times(z, 8.0 / 3));
        const double mx = x + h / 2 * dx, my = y + h / 2 * dy, mz = z + h / 2 * dz;
        x += h * 10 * (my - mx);
        y += h * (times(mx, 28 - mz) - my);
        z += h * (times(mx, my) - times(mz, 8.0 / 3));
        logistic = times(3.99 * logistic, 1 - logistic);
    }
    return {{bits(x), bits(y), bits(z), bits(logistic), bits(sqrt(x * x + y * y + z * z))}};
}

// Eight bodies per thread.
DEVICE(bodies, Longs<6>, 64) {
    double p[8][3], v[8][3] = {};
    for (u32 k = 0; k < 24; ++k) p[k / 3][k % 3] = tame_double(i, k);
#pragma unroll 1
    for (int step = 0; step < 4; ++step) {
#pragma unroll 1
        for (int a = 0; a < 8; ++a)
#pragma unroll 1
            for (int b = 0; b < 8; ++b) {
                if (a == b) continue;
                double d[3], square = 0.01;
                for (int k = 0; k < 3; ++k) d[k] = p[b][k] - p[a][k], square += d[k] * d[k];
                const double force = 0.01 / (square * sqrt(square));
                for (int k = 0; k < 3; ++k) v[a][k] += d[k] * force;
            }
        for (int k = 0; k < 24; ++k) p[k / 3][k % 3] += 0.1 * v[k / 3][k % 3];
    }
    Longs<6> out;
    for (int k = 0; k < 3; ++k) out.at[k] = bits(p[i & 7][k]), out.at[3 + k] = bits(v[i & 7][k]);
    return out;
}

BOTH(double_integral_parts, Longs<6>, 1000) {
    const double a =
        word(i, 7) % 3 ? any_double(i) : times(tame_double(i), double(1ull << word(i, 8) % 55));
    double whole = 0;
    const double part = modf(a, &whole);
    return {
        {bits(floor(a)), bits(ceil(a)), bits(rint(a)), bits(round(a)), bits(whole), bits(part)}};
}

DEVICE(double_compared, Longs<6>, 1000) {
    const double a = any_double(i, 0), b = word(i, 7) % 5 ? any_double(i, 1) : -a;
    const u64 order = (a < b) | (a <= b) << 1 | (a == b) << 2 | (a != b) << 3 | (a > b) << 4 |
                      (a >= b) << 5 | !(a > b) << 6 | !!isnan(a) << 7 | !!isinf(a) << 8 |
                      !!signbit(a) << 9;
    return {{order, bits(fmin(a, b)), bits(fmax(a, b)), bits(copysign(a, b)), bits(logb(a)),
             bits(ldexp(a, int(word(i, 5) % 2400) - 1200)) ^ bits(nextafter(a, b))}};
}

DEVICE(double_functions, Longs<9>, 400) {
    const double x = times(tame_double(i, 0), i % 5 ? 10 : 1e7), y = tame_double(i, 1);
    return {{bits(sin(x)), bits(cos(x)), bits(exp(times(y, 20))), bits(exp2(y)), bits(expm1(y)),
             bits(sinpi(x)), bits(exp10(y)), bits(atan2(x, y)), bits(fmod(x, y))}};
}

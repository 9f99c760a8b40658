// The operators of rational programs, for one candidate and for as many at once as fit a register.
// Each lane computes what the operator on doubles computes, to the last bit. Needs cutune_tables.h.
#ifndef CUTUNE_OPERATORS_H
#define CUTUNE_OPERATORS_H

// Other compilers, and arithmetic that need not be exact, take one candidate after the other.
#if defined(__GNUC__) && !defined(__FAST_MATH__)
#define CUTUNE_LANES 2
#define CUTUNE_OP static inline __attribute__((unused, always_inline))
#else
#define CUTUNE_LANES 1
#define CUTUNE_OP static inline
#endif

#define CUTUNE_EACH(at, count) for (int at = 0; at < count; at += CUTUNE_LANES)

CUTUNE_OP double cutune_min(double a, double b) { return a < b ? a : b; }
CUTUNE_OP double cutune_max(double a, double b) { return a > b ? a : b; }
CUTUNE_OP double cutune_less(double a, double b) { return a < b ? 1.0 : 0.0; }
CUTUNE_OP double cutune_less_equal(double a, double b) { return a <= b ? 1.0 : 0.0; }
CUTUNE_OP double cutune_equal(double a, double b) { return a == b ? 1.0 : 0.0; }
CUTUNE_OP double cutune_choice(double c, double a, double b) { return c != 0.0 ? a : b; }
// Conversions replace libm's floor: two instructions.
CUTUNE_OP double cutune_floor(double a) {
    if (!(a > -9e15 && a < 9e15)) return a;  // whole already, or not a number
    const double whole = static_cast<double>(static_cast<long long>(a));
    return whole > a ? whole - 1.0 : whole;
}
CUTUNE_OP double cutune_ceiling(double a) {
    if (!(a > -9e15 && a < 9e15)) return a;
    const double whole = static_cast<double>(static_cast<long long>(a));
    return whole < a ? whole + 1.0 : whole;
}
CUTUNE_OP double cutune_remainder(double a, double b) { return a - b * cutune_floor(a / b); }

#if CUTUNE_LANES == 2

typedef double cutune_lanes __attribute__((vector_size(16)));

CUTUNE_OP cutune_lanes cutune_all(double a) { return cutune_lanes{a, a}; }
CUTUNE_OP cutune_lanes cutune_load(const double *from) {
    return cutune_lanes{from[0], from[1]};
}
template <class Entry>
CUTUNE_OP cutune_lanes cutune_look(const Entry *table, cutune_lanes index) {
    return cutune_lanes{cutune_at(table, index[0]), cutune_at(table, index[1])};
}
CUTUNE_OP cutune_lanes cutune_pick(const double *values, const char *places) {
    return cutune_lanes{values[cutune_entry(places, 0)], values[cutune_entry(places, 1)]};
}
CUTUNE_OP void cutune_store(double *to, cutune_lanes a) {
    to[0] = a[0];
    to[1] = a[1];
}
CUTUNE_OP cutune_lanes cutune_min(cutune_lanes a, cutune_lanes b) { return a < b ? a : b; }
CUTUNE_OP cutune_lanes cutune_max(cutune_lanes a, cutune_lanes b) { return a > b ? a : b; }
CUTUNE_OP cutune_lanes cutune_less(cutune_lanes a, cutune_lanes b) {
    return a < b ? cutune_all(1.0) : cutune_all(0.0);
}
CUTUNE_OP cutune_lanes cutune_less_equal(cutune_lanes a, cutune_lanes b) {
    return a <= b ? cutune_all(1.0) : cutune_all(0.0);
}
CUTUNE_OP cutune_lanes cutune_equal(cutune_lanes a, cutune_lanes b) {
    return a == b ? cutune_all(1.0) : cutune_all(0.0);
}
CUTUNE_OP cutune_lanes cutune_choice(cutune_lanes c, cutune_lanes a, cutune_lanes b) {
    return c != 0.0 ? a : b;
}
// From 2^52 on a double is whole; below, adding and taking away 2^52 rounds to a whole number.
CUTUNE_OP cutune_lanes cutune_nearest(cutune_lanes a) {
    const cutune_lanes shift =
        a < 0.0 ? cutune_all(-4503599627370496.0) : cutune_all(4503599627370496.0);
    return (a + shift) - shift;
}
CUTUNE_OP cutune_lanes cutune_if_small(cutune_lanes a, cutune_lanes rounded) {
    const cutune_lanes size = a < 0.0 ? -a : a;
    return size < 4503599627370496.0 ? rounded : a;
}
CUTUNE_OP cutune_lanes cutune_floor(cutune_lanes a) {
    const cutune_lanes whole = cutune_nearest(a);
    return cutune_if_small(a, whole - (whole > a ? cutune_all(1.0) : cutune_all(0.0)));
}
CUTUNE_OP cutune_lanes cutune_ceiling(cutune_lanes a) {
    const cutune_lanes whole = cutune_nearest(a);
    return cutune_if_small(a, whole + (whole < a ? cutune_all(1.0) : cutune_all(0.0)));
}
CUTUNE_OP cutune_lanes cutune_remainder(cutune_lanes a, cutune_lanes b) {
    return a - b * cutune_floor(a / b);
}

#else

typedef double cutune_lanes;

CUTUNE_OP cutune_lanes cutune_all(double a) { return a; }
CUTUNE_OP cutune_lanes cutune_load(const double *from) { return from[0]; }
template <class Entry>
CUTUNE_OP cutune_lanes cutune_look(const Entry *table, cutune_lanes index) {
    return cutune_at(table, index);
}
CUTUNE_OP cutune_lanes cutune_pick(const double *values, const char *places) {
    return values[cutune_entry(places, 0)];
}
CUTUNE_OP void cutune_store(double *to, cutune_lanes a) { to[0] = a; }

#endif

// Smooth maxima of what works side by side, (a^p + b^p)^(1/p) for positive a and b: with a the
// larger and r = b / a, a * (1 + c r^p / (1 + d r^p)) by one division, with an error below 0.12 %.
template <typename T>
CUTUNE_OP T cutune_norm(T larger, T most, T least, double c, double d) {
    return larger * (1.0 + c * least / (most + d * least));
}
template <typename T>
CUTUNE_OP T cutune_norm_2(T a, T b) {
    const T larger = cutune_max(a, b), smaller = cutune_min(a, b);
    return cutune_norm(larger, larger * larger, smaller * smaller, 0.5, 0.212);
}
template <typename T>
CUTUNE_OP T cutune_norm_3(T a, T b) {
    const T larger = cutune_max(a, b), smaller = cutune_min(a, b);
    return cutune_norm(larger, larger * larger * larger, smaller * smaller * smaller,
                       0.3333333333333333, 0.2823333333333333);
}
template <typename T>
CUTUNE_OP T cutune_eighth_power(T a) {
    const T square = a * a, fourth = square * square;
    return fourth * fourth;
}
template <typename T>
CUTUNE_OP T cutune_norm_8(T a, T b) {
    const T larger = cutune_max(a, b), smaller = cutune_min(a, b);
    return cutune_norm(larger, cutune_eighth_power(larger), cutune_eighth_power(smaller), 0.125,
                       0.381);
}

#endif  // CUTUNE_OPERATORS_H

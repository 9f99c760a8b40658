// Integers that know when they have overflowed, for formulas of the arguments of a launch.
#ifndef CUTUNE_EXACT_H
#define CUTUNE_EXACT_H

struct cutune_exact {
    long long value;
    bool is_known_;

    // Not explicit: literals and parameters stand in one formula.
    cutune_exact(long long number, bool known = true) : value(number), is_known_(known) {}
};

inline cutune_exact operator+(cutune_exact a, cutune_exact b) {
    long long sum = 0;
    const bool overflows = __builtin_add_overflow(a.value, b.value, &sum);
    return cutune_exact(sum, a.is_known_ && b.is_known_ && !overflows);
}

inline cutune_exact operator-(cutune_exact a, cutune_exact b) {
    long long difference = 0;
    const bool overflows = __builtin_sub_overflow(a.value, b.value, &difference);
    return cutune_exact(difference, a.is_known_ && b.is_known_ && !overflows);
}

inline cutune_exact operator-(cutune_exact a) { return cutune_exact(0) - a; }

inline cutune_exact operator*(cutune_exact a, cutune_exact b) {
    long long product = 0;
    const bool overflows = __builtin_mul_overflow(a.value, b.value, &product);
    return cutune_exact(product, a.is_known_ && b.is_known_ && !overflows);
}

inline bool cutune_may_divide(cutune_exact a, cutune_exact b) {
    return a.is_known_ && b.is_known_ && b.value > 0;
}

inline cutune_exact operator/(cutune_exact a, cutune_exact b) {
    return cutune_may_divide(a, b) ? cutune_exact(a.value / b.value) : cutune_exact(0, false);
}

inline cutune_exact operator%(cutune_exact a, cutune_exact b) {
    return cutune_may_divide(a, b) ? cutune_exact(a.value % b.value) : cutune_exact(0, false);
}

// An unknown value is never >= another one: guards read `n < 0 ? 0 : n + m`.
inline bool operator<(cutune_exact a, cutune_exact b) {
    return !a.is_known_ || !b.is_known_ || a.value < b.value;
}

// A guard bound; 0 where it is not known.
inline long long cutune_bound(cutune_exact bound) { return bound.is_known_ ? bound.value : 0; }

inline cutune_exact cutune_size(cutune_exact a) { return a.value < 0 ? -a : a; }

// Is the one step at least as long as `extent` of the other?
inline bool cutune_reaches(cutune_exact larger, cutune_exact smaller, long long extent) {
    const cutune_exact far = cutune_size(larger);
    const cutune_exact near = cutune_size(smaller) * cutune_exact(extent);
    return far.is_known_ && near.is_known_ && far.value >= near.value;
}

#endif  // CUTUNE_EXACT_H

// How the programs of this set end: a checksum of all results, in so few digits that the order in
// which the device adds does not show, and a check of some results.

#ifndef CHECKSUM_H
#define CHECKSUM_H

#include "../host.h"

// Magnitudes, because signed results may cancel; weights, because results may change places.
template <class T>
double checksum_of(const std::vector<T> &values) {
    double sum = 0.0;
    for (size_t i = 0; i < values.size(); i++)
        sum += fabs((double)values[i]) * (double)(1 + i % 13);
    return sum;
}

inline int report(double checksum, double error) {
    const bool pass = error <= 1e-4;
    printf("checksum %.4g, %s\n", checksum, pass ? "PASS" : "FAIL");
    return pass ? 0 : 1;
}

// Of whole numbers, which must all be right.
inline int report_exact(unsigned long long checksum, bool pass) {
    printf("checksum %llu, %s\n", checksum, pass ? "PASS" : "FAIL");
    return pass ? 0 : 1;
}

inline double relative_difference(double found, double wanted) {
    if (!std::isfinite(found)) return INFINITY;
    return fabs(found - wanted) / fmax(fabs(wanted), 1e-30);
}

#endif

// What the programs of this set share: a checksum of what a kernel wrote, and the count of elements
// that are not what they should be, where that can be said exactly.

#ifndef JUDGE_CHECKED_H
#define JUDGE_CHECKED_H

#include "../host.h"

template <class T>
void say_sum(const char *name, const std::vector<T> &values) {
    double sum = 0.0;
    for (const T value : values) sum += (double)value;
    printf("checksum of %s: %.10g\n", name, sum);
}

// How many of about a thousand elements, and of the last one, `right(i)` says are wrong.
template <class Right>
double sampled_wrong(size_t count, Right right) {
    const size_t step = count / 1000 + 1;
    double wrong = 0.0;
    for (size_t i = 0; i < count + step; i += step)
        if (!right(i < count ? i : count - 1)) wrong += 1.0;
    return wrong;
}

#endif

// What the judge programs share besides samples/polybench/polybench.h: arrays of any type, and a
// check of some elements, because the host would take longer than all of the rest.

#ifndef JUDGE_H
#define JUDGE_H

#include <random>

#include "../../samples/polybench/polybench.h"

template <class T>
T *to_device(const std::vector<T> &values) {
    T *device_values;
    CHECK(cudaMalloc((void **)&device_values, values.size() * sizeof(T)));
    CHECK(cudaMemcpy(device_values, values.data(), values.size() * sizeof(T),
                     cudaMemcpyHostToDevice));
    return device_values;
}

template <class T>
std::vector<T> from_device(const T *device_values, size_t count) {
    std::vector<T> values(count);
    CHECK(cudaMemcpy(values.data(), device_values, count * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
}

// Whole numbers from 0 to below `limit`, the same in every run.
inline std::vector<int> fixed_integers(size_t count, int limit, unsigned seed) {
    std::mt19937 generator(seed);
    std::vector<int> values(count);
    for (int &value : values) value = (int)(generator() % (unsigned)limit);
    return values;
}

// The largest difference of about a thousand elements, and the last one, from what `expected(i)`
// says, relative to the largest magnitude among them.
template <class T, class Expected>
double sampled_error(const std::vector<T> &actual, Expected expected) {
    const size_t count = actual.size(), step = count / 1000 + 1;
    double difference = 0.0, magnitude = 0.0;
    for (size_t i = 0; i < count + step; i += step) {
        const size_t element = i < count ? i : count - 1;
        const double wanted = (double)expected(element), found = (double)actual[element];
        if (!std::isfinite(found)) return INFINITY;
        difference = fmax(difference, fabs(found - wanted));
        magnitude = fmax(magnitude, fabs(wanted));
    }
    return magnitude > 0.0 ? difference / magnitude : difference;
}

// Ends the last launch and looks for its error.
inline void finish_launches() {
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
}

inline unsigned blocks_for(int threads, unsigned block) {
    return (unsigned)((threads + (long long)block - 1) / block);
}

#endif

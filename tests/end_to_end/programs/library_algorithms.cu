// Reduction, radix sort and scan of the toolkit's own device library: look-back between blocks,
// kernels chosen by attributes of the device and of the PTX.
#include <algorithm>
#include <numeric>
#include <vector>

#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>

#include "check.h"

int main() {
    std::vector<int> values(20000), got(values.size());
    unsigned state = 1;
    for (int &value : values) {
        state = state * 1664525u + 1013904223u;
        value = state >> 20;
    }
    thrust::device_vector<int> device(values.begin(), values.end());
    const int sum = std::accumulate(values.begin(), values.end(), 0);
    REQUIRE(thrust::reduce(device.begin(), device.end()) == sum);
    thrust::sort(device.begin(), device.end());
    std::sort(values.begin(), values.end());
    thrust::copy(device.begin(), device.end(), got.begin());
    REQUIRE(got == values);
    thrust::inclusive_scan(device.begin(), device.end(), device.begin());
    std::partial_sum(values.begin(), values.end(), values.begin());
    thrust::copy(device.begin(), device.end(), got.begin());
    REQUIRE(got == values);
    return pass();
}

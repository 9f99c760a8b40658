// Inclusive prefix sums by Hillis and Steele: log2(n) launches, each adds the element `distance`
// before.
//
//     nvcc -O2 -o scan_step scan_step.cu && ./scan_step 100000

#include "../judge.h"

#include <utility>

__global__ void scan_step(int n, int distance, const int *from, int *to) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int sum = from[i];
        if (i >= distance) sum += from[i - distance];
        to[i] = sum;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 10000, 1 << 28);
    const std::vector<int> values = fixed_integers(n, 8, 1);
    int *device_from = to_device(values), *device_to = to_device(std::vector<int>(n));

    const unsigned block = 256;
    for (int distance = 1; distance < n; distance *= 2) {
        scan_step<<<blocks_for(n, block), block>>>(n, distance, device_from, device_to);
        std::swap(device_from, device_to);
    }
    finish_launches();

    std::vector<int> expected = values;
    for (int i = 1; i < n; i++) expected[i] += expected[i - 1];
    return verdict(sampled_error(from_device(device_from, n), [&](size_t e) { return expected[e]; }));
}

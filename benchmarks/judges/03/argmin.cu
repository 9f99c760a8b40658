// The place of the least of n values. A block keeps its least in dynamic shared memory, as a key of
// value and place; one thread of it takes the minimum of all blocks atomically.
//
//     nvcc -O2 -o argmin argmin.cu && ./argmin 1000000

#include "../judge.h"

#include <algorithm>

typedef unsigned long long Key;

// Bits of floats that are not negative are in the order of their values.
#pragma cutune kernel argmin data(n) block(x: 32, 64, 128, 256, 512, 1024) grid(ceil(n / x))
__global__ void argmin(int n, const float *values, Key *least) {
    extern __shared__ Key keys[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int t = threadIdx.x;
    keys[t] = i < n ? (Key)__float_as_uint(values[i]) << 32 | (unsigned)i : ~0ull;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half && keys[t + half] < keys[t]) keys[t] = keys[t + half];
        __syncthreads();
    }
    if (t == 0) atomicMin(least, keys[0]);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 10000, 1 << 28);
    const std::vector<float> values = fixed_values(n, 1);
    float *device_values = to_device(values);
    Key *device_least = to_device(std::vector<Key>(1, ~0ull));

    const int threads = 256;
    const int blocks = (n + threads - 1) / threads;
    argmin<<<blocks, threads, threads * sizeof(Key)>>>(n, device_values, device_least);
    finish_launches();

    const Key found = from_device(device_least, 1)[0] & 0xffffffffu;
    const Key place = std::min_element(values.begin(), values.end()) - values.begin();
    const std::vector<float> same(1, found == place ? 1.0f : 0.0f);
    return verdict(sampled_error(same, [](size_t) { return 1.0f; }));
}

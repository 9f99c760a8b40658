// Half precision: y = a x + y of n halves, calculated in floats, in place.
//
//     nvcc -O2 -o half_axpby half_axpby.cu && ./half_axpby 1000000

#include <cuda_fp16.h>

#include "checksum.h"

static float half_value(uint16_t bits) {
    __half_raw raw;
    raw.x = bits;
    return __half2float(__half(raw));
}

__global__ void haxpy(int n, float a, const __half *x, __half *y) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) y[i] = __float2half(a * __half2float(x[i]) + __half2float(y[i]));
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 3000, 200000000);
    std::vector<uint16_t> x = quick_bits<uint16_t>(n, 2281), y = quick_bits<uint16_t>(n, 2282);
    for (uint16_t &bits : x) bits = (uint16_t)((bits & 0x83ffu) | 0x3800u);
    for (uint16_t &bits : y) bits = (uint16_t)((bits & 0x83ffu) | 0x3800u);
    const uint16_t *d_x = to_device(x);
    uint16_t *d_y = to_device(y);

    haxpy<<<(n + 255) / 256, 256>>>(n, 0.75f, (const __half *)d_x, (__half *)d_y);
    finish_launches();

    const std::vector<uint16_t> bits = from_device(d_y, n);
    std::vector<float> after(n);
    for (int i = 0; i < n; i++) after[i] = half_value(bits[i]);
    print_checksum("y", after);
    const double error = sampled_error(
        after, [&](size_t e) { return 0.75f * half_value(x[e]) + half_value(y[e]); });
    return verdict(error <= 1e-3 ? 0.0 : error);
}

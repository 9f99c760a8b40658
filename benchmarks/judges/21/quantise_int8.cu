// Neural networks: n floats to bytes with sign, one scale for all, rounded and clamped.
//
//     nvcc -O2 -o quantise_int8 quantise_int8.cu && ./quantise_int8 1000000

#include "checksum.h"

__global__ void quantize(const float *__restrict__ x, signed char *__restrict__ q, float inv_scale,
                         int zero_point, int n) {
    int gid = blockIdx.x * blockDim.x + threadIdx.x;
    if (gid >= n) return;
    int v = __float2int_rn(x[gid] * inv_scale) + zero_point;
    q[gid] = (signed char)max(-128, min(127, v));
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 3000, 200000000);
    std::vector<float> x = quick_values(n, 2241);
    for (float &value : x) value = 2.5f * value - 1.0f;
    const float *d_x = to_device(x);
    signed char *d_q = device_zeros<signed char>(n);

    quantize<<<(n + 255) / 256, 256>>>(d_x, d_q, 96.0f, 5, n);
    finish_launches();

    const std::vector<signed char> q = from_device(d_q, n);
    print_checksum("q", q);
    return verdict(sampled_error(q, [&](size_t e) {
        const int v = (int)nearbyintf(x[e] * 96.0f) + 5;
        return v < -128 ? -128 : v > 127 ? 127 : v;
    }));
}

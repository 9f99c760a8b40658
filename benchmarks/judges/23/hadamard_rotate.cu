// Language models: n rows of 512 halves, in place, get random signs and a Walsh-Hadamard
// transform, so that no value sticks out before they are quantised. A block per row, butterflies
// in shared memory.
//
//     nvcc -O2 -o hadamard_rotate hadamard_rotate.cu && ./hadamard_rotate 10000

#include <cuda_fp16.h>

#include "checked.h"

constexpr int kWidth = 512;
constexpr int kThreads = kWidth / 2;

__global__ void rotate_rows(__half *rows, const uint32_t *__restrict__ signs) {
    __shared__ float s[kWidth];
    __half *row = rows + (size_t)blockIdx.x * kWidth;
    const int t = threadIdx.x;
    for (int i = t; i < kWidth; i += kThreads) {
        const float v = __half2float(row[i]);
        s[i] = signs[i / 32] >> (i % 32) & 1 ? -v : v;
    }
    for (int span = 1; span < kWidth; span *= 2) {
        __syncthreads();
        const int low = t / span * 2 * span + t % span;
        const float a = s[low], b = s[low + span];
        s[low] = a + b;
        s[low + span] = a - b;
    }
    __syncthreads();
    for (int i = t; i < kWidth; i += kThreads) row[i] = __float2half(s[i] * 0.04419417382f);
}

static float value(uint16_t bits) {
    __half_raw raw;
    raw.x = bits;
    return __half2float(__half(raw));
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 10, 1000000);
    const size_t count = (size_t)n * kWidth;
    std::vector<uint16_t> rows = quick_bits<uint16_t>(count, 3191);
    // Magnitudes from 1/8 to 2.
    for (uint16_t &bits : rows) bits = (uint16_t)((bits & 0x8fffu) | 0x3000u);
    const std::vector<uint32_t> signs = quick_bits<uint32_t>(kWidth / 32, 3192);
    const uint32_t *d_signs = to_device(signs);
    uint16_t *d_rows = to_device(rows);

    rotate_rows<<<n, kThreads>>>((__half *)d_rows, d_signs);
    finish_launches();

    const std::vector<uint16_t> rotated = from_device(d_rows, count);
    double squares = 0.0;
    for (const uint16_t bits : rotated) squares += (double)value(bits) * value(bits);
    printf("checksum of squares: %.10g\n", squares);
    return verdict(sampled_wrong(count, [&](size_t e) {
        const size_t first = e / kWidth * kWidth;
        double sum = 0.0;
        for (unsigned i = 0; i < kWidth; i++) {
            uint32_t odd = i & (unsigned)(e - first);
            odd ^= odd >> 8, odd ^= odd >> 4, odd ^= odd >> 2, odd ^= odd >> 1;
            odd ^= signs[i / 32] >> (i % 32);
            sum += odd & 1 ? -value(rows[first + i]) : value(rows[first + i]);
        }
        const double wanted = sum / sqrt((double)kWidth);
        return fabs(value(rotated[e]) - wanted) <= 6e-4 * fabs(wanted) + 1e-5;
    }));
}

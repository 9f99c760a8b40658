// Fourier transforms of n signals of 16 complex numbers, in place, one thread per signal, which it
// keeps in registers; equal points of all signals are neighbours in memory.
//
//     nvcc -O2 -o batch_fft16 batch_fft16.cu && ./batch_fft16 10000

#include "../judge.h"

#define POINTS 16

__device__ inline void transform(float2 *v) {
    const float cosine[8] = {1.0f, 0.92387953f,  0.70710678f,  0.38268343f,
                             0.0f, -0.38268343f, -0.70710678f, -0.92387953f};
    const float sine[8] = {0.0f,  -0.38268343f, -0.70710678f, -0.92387953f,
                           -1.0f, -0.92387953f, -0.70710678f, -0.38268343f};
#pragma unroll
    for (int stage = 0; stage < 4; stage++) {
#pragma unroll
        for (int pair = 0; pair < POINTS / 2; pair++) {
            const int span = 1 << stage, k = pair & (span - 1), low = 2 * pair - k;
            const float c = cosine[k << (3 - stage)], s = sine[k << (3 - stage)];
            const float2 a = v[low], b = v[low + span];
            const float2 turned = make_float2(c * b.x - s * b.y, c * b.y + s * b.x);
            v[low] = make_float2(a.x + turned.x, a.y + turned.y);
            v[low + span] = make_float2(a.x - turned.x, a.y - turned.y);
        }
    }
}

__global__ void batch_fft16(int n, float2 *signals) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float2 v[POINTS];
#pragma unroll
    for (int e = 0; e < POINTS; e++) {
        const int reversed = (e & 1) << 3 | (e & 2) << 1 | (e & 4) >> 1 | (e & 8) >> 3;
        v[reversed] = signals[e * n + i];
    }
    transform(v);
#pragma unroll
    for (int e = 0; e < POINTS; e++) signals[e * n + i] = v[e];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1 << 24);
    const size_t count = (size_t)POINTS * n;
    const std::vector<float> numbers = fixed_values(2 * count, 1);
    std::vector<float2> signals(count);
    for (size_t e = 0; e < count; e++) signals[e] = make_float2(numbers[2 * e], numbers[2 * e + 1]);
    float2 *device_signals = to_device(signals);

    const unsigned block = 64;
    batch_fft16<<<blocks_for(n, block), block>>>(n, device_signals);
    finish_launches();

    const std::vector<float2> found = from_device(device_signals, count);
    std::vector<float> actual(count);
    for (size_t e = 0; e < count; e++) actual[e] = found[e].x + 2.0f * found[e].y;
    return verdict(sampled_error(actual, [&](size_t e) {
        double x = 0.0, y = 0.0;
        for (size_t j = 0; j < POINTS; j++) {
            const double angle = -2.0 * 3.14159265358979 * (double)(j * (e / n)) / POINTS;
            const float2 value = signals[j * n + e % n];
            x += cos(angle) * value.x - sin(angle) * value.y;
            y += cos(angle) * value.y + sin(angle) * value.x;
        }
        return x + 2.0 * y;
    }));
}

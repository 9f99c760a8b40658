// Rotary position embedding, in place, in half precision: the queries of n tokens, 32 heads of 128
// numbers each. A thread turns two neighbours of the first half of a head with two of the second.
//
//     nvcc -O2 -o rope_half rope_half.cu && ./rope_half 8000

#include <cuda_fp16.h>

#include "../host.h"

#define HEADS 32
#define DIM 128
#define PAIRS (DIM / 4)
#define CONTEXT 4096

// The table has cosine and sine of two neighbouring frequencies for each position.
__global__ void rotate(__half2 *__restrict__ queries, const float4 *__restrict__ table,
                       const int *__restrict__ positions, int tokens) {
    const int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= tokens * HEADS * PAIRS) return;
    const int pair = id % PAIRS;
    const int head = id / PAIRS;
    const int token = head / HEADS;
    const float4 turn = table[positions[token] * PAIRS + pair];
    __half2 *first = queries + (size_t)head * (DIM / 2) + pair;
    const float2 a = __half22float2(first[0]);
    const float2 b = __half22float2(first[PAIRS]);
    first[0] = __floats2half2_rn(a.x * turn.x - b.x * turn.y, a.y * turn.z - b.y * turn.w);
    first[PAIRS] = __floats2half2_rn(b.x * turn.x + a.x * turn.y, b.y * turn.z + a.y * turn.w);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 16, 400000);
    const size_t count = (size_t)n * HEADS * DIM;
    // Any bits as numbers between 0.5 and 1 and between -1 and -0.5.
    std::vector<uint16_t> bits = quick_bits<uint16_t>(count, 81);
    for (size_t i = 0; i < count; i++) bits[i] = (uint16_t)((bits[i] & 0x83ff) | 0x3800);
    std::vector<int> positions(n);
    for (int i = 0; i < n; i++) positions[i] = i % 1500;
    std::vector<float> table((size_t)CONTEXT * DIM);
    for (int k = 0; k < DIM / 2; k++) {
        const double frequency = pow(10000.0, -2.0 * k / DIM);
        for (int p = 0; p < CONTEXT; p++) {
            table[(size_t)p * DIM + 2 * k] = (float)cos(p * frequency);
            table[(size_t)p * DIM + 2 * k + 1] = (float)sin(p * frequency);
        }
    }
    uint16_t *d_queries = to_device(bits);
    const float *d_table = to_device(table);
    const int *d_positions = to_device(positions);

    const int threads = 256;
    const int blocks = (n * HEADS * PAIRS + threads - 1) / threads;
    rotate<<<blocks, threads>>>((__half2 *)d_queries, (const float4 *)d_table, d_positions, n);
    finish_launches();

    const std::vector<uint16_t> out = from_device(d_queries, count);
    auto number = [](uint16_t b) {
        __half_raw raw;
        raw.x = b;
        return __half2float(__half(raw));
    };
    const size_t step = count / 1009 | 1;
    std::vector<float> sample;
    for (size_t e = 0; e < count; e += step) sample.push_back(number(out[e]));
    return verdict(sampled_error(sample, [&](size_t s) {
        const size_t e = s * step, i = e % DIM, k = i % (DIM / 2), start = e - i;
        const float *turn = &table[(size_t)positions[e / (HEADS * DIM)] * DIM + 2 * k];
        const float a = number(bits[start + k]), b = number(bits[start + k + DIM / 2]);
        const float exact = i < DIM / 2 ? a * turn[0] - b * turn[1] : b * turn[0] + a * turn[1];
        // Half of the last bit may be lost, and more where the two products nearly cancel out.
        return fabsf(sample[s] - exact) < 1e-3f ? sample[s] : exact;
    }));
}

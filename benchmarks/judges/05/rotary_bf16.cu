// Rotary position embedding of n tokens in bfloat16: 32 heads of 128 numbers, where number d turns
// together with number d + 64 by an angle of the token's place, whose sines and cosines are in a
// table.
//
//     nvcc -O2 -o rotary_bf16 rotary_bf16.cu && ./rotary_bf16 1000

#include <cuda_bf16.h>

#include "../host.h"

#define HEADS 32
#define HALF_DIM 64

__global__ void rotary_embedding(const __nv_bfloat16 *__restrict__ query,
                                 const float2 *__restrict__ cos_sin,
                                 __nv_bfloat16 *__restrict__ rotated, int tokens) {
    const int pair = blockIdx.x * blockDim.x + threadIdx.x;
    if (pair >= tokens * HEADS * HALF_DIM) return;
    const int d = pair % HALF_DIM;
    const int head = pair / HALF_DIM;  // counted through all tokens
    const int token = head / HEADS;
    const float2 turn = cos_sin[token * HALF_DIM + d];
    const int low = head * 2 * HALF_DIM + d, high = low + HALF_DIM;
    const float x = __bfloat162float(query[low]), y = __bfloat162float(query[high]);
    rotated[low] = __float2bfloat16(x * turn.x - y * turn.y);
    rotated[high] = __float2bfloat16(y * turn.x + x * turn.y);
}

// The bits of a number from -1 to 1, and the number of some bits.
static uint16_t bf16_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return (uint16_t)(bits >> 16);
}

static float bf16_value(uint16_t bits) {
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, 4);
    return value;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 10, 200000);
    const size_t count = (size_t)n * HEADS * 2 * HALF_DIM;
    std::vector<uint16_t> query(count);
    for (size_t e = 0; e < count; e++)
        query[e] = bf16_bits((float)(mixed((uint32_t)e) >> 8) / 8388608.0f - 1.0f);
    std::vector<float2> cos_sin((size_t)n * HALF_DIM);
    for (int token = 0; token < n; token++)
        for (int d = 0; d < HALF_DIM; d++) {
            const float angle = token * powf(10000.0f, -(float)d / HALF_DIM);
            cos_sin[(size_t)token * HALF_DIM + d] = make_float2(cosf(angle), sinf(angle));
        }
    const __nv_bfloat16 *d_query = (const __nv_bfloat16 *)to_device(query);
    const float2 *d_cos_sin = to_device(cos_sin);
    uint16_t *d_rotated = device_zeros<uint16_t>(count);

    const int threads = 256;
    const int pairs = n * HEADS * HALF_DIM;
    rotary_embedding<<<(pairs + threads - 1) / threads, threads>>>(
        d_query, d_cos_sin, (__nv_bfloat16 *)d_rotated, n);
    finish_launches();

    // Bfloat16 has eight bits: the result may be wrong by one in 256 of itself.
    const std::vector<uint16_t> rotated = from_device(d_rotated, count);
    bool right = true;
    for (size_t e = 0; e < count; e += count / 1000 + 1) {
        const size_t d = e % HALF_DIM, first = e / (2 * HALF_DIM) * (2 * HALF_DIM);
        const float2 turn = cos_sin[e / (HEADS * 2 * HALF_DIM) * HALF_DIM + d];
        const float x = bf16_value(query[first + d]), y = bf16_value(query[first + HALF_DIM + d]);
        const bool low = e == first + d;
        const float wanted = low ? x * turn.x - y * turn.y : y * turn.x + x * turn.y;
        if (!(fabsf(bf16_value(rotated[e]) - wanted) <= fabsf(wanted) / 256 + 1e-6f)) right = false;
    }
    return verdict(right ? 0.0 : 1.0);
}

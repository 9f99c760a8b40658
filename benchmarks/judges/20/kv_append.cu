// Large language models: the keys and values of n new tokens go to a paged cache, keys turned by
// their positions (rotary embedding, halves of a head against each other). Sixteen heads of 128
// halves; where a token goes is a slot, and padding has none.
//
//     nvcc -O2 -o kv_append kv_append.cu && ./kv_append 1000

#include "halves.h"

#define HEADS 16
#define HEAD 128
#define PAIRS (HEAD / 2)
#define PAGE 16

__global__ void append_tokens(const __half *__restrict__ keys, const __half *__restrict__ values,
                              const int *__restrict__ positions, const int *__restrict__ slots,
                              const float *__restrict__ frequencies, __half *key_cache,
                              __half *value_cache, int tokens) {
    const int pair = blockIdx.x * blockDim.x + threadIdx.x;
    const int head = blockIdx.y * blockDim.y + threadIdx.y;
    const int token = blockIdx.z * blockDim.z + threadIdx.z;
    if (pair >= PAIRS || head >= HEADS || token >= tokens) return;
    const int slot = slots[token];
    if (slot < 0) return;
    const size_t from = ((size_t)token * HEADS + head) * HEAD + pair;
    const size_t to = (((size_t)(slot / PAGE) * HEADS + head) * PAGE + slot % PAGE) * HEAD + pair;
    const float angle = positions[token] * frequencies[pair];
    const float c = cosf(angle), s = sinf(angle);
    const float first = __half2float(keys[from]), second = __half2float(keys[from + PAIRS]);
    key_cache[to] = __float2half(first * c - second * s);
    key_cache[to + PAIRS] = __float2half(second * c + first * s);
    value_cache[to] = values[from];
    value_cache[to + PAIRS] = values[from + PAIRS];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 40, 65000);
    const size_t count = (size_t)n * HEADS * HEAD;
    const int pages = (n + PAGE - 1) / PAGE;
    const size_t cached = (size_t)pages * PAGE * HEADS * HEAD;
    const std::vector<uint16_t> keys = quick_halves(count, 2001);
    const std::vector<uint16_t> values = quick_halves(count, 2002);
    std::vector<int> positions(n), slots(n);
    // Pages are handed out from both ends in turn.
    for (int token = 0; token < n; token++) {
        const int page = token / PAGE, place = page % 2 ? pages - 1 - page / 2 : page / 2;
        positions[token] = (int)(mixed(token / 100) % 4000u) + token % 100;
        slots[token] = token % 64 == 63 ? -1 : place * PAGE + token % PAGE;
    }
    std::vector<float> frequencies(PAIRS);
    for (int pair = 0; pair < PAIRS; pair++)
        frequencies[pair] = (float)pow(10000.0, -pair / (double)PAIRS);
    const uint16_t *d_keys = to_device(keys), *d_values = to_device(values);
    const int *d_positions = to_device(positions), *d_slots = to_device(slots);
    const float *d_frequencies = to_device(frequencies);
    uint16_t *d_key_cache = device_zeros<uint16_t>(cached);
    uint16_t *d_value_cache = device_zeros<uint16_t>(cached);

    dim3 block(64, 4, 1);
    dim3 grid((PAIRS + block.x - 1) / block.x, (HEADS + block.y - 1) / block.y,
              (n + block.z - 1) / block.z);
    append_tokens<<<grid, block>>>((const __half *)d_keys, (const __half *)d_values, d_positions,
                                   d_slots, d_frequencies, (__half *)d_key_cache,
                                   (__half *)d_value_cache, n);
    finish_launches();

    const std::vector<uint16_t> key_cache = from_device(d_key_cache, cached);
    const std::vector<uint16_t> value_cache = from_device(d_value_cache, cached);
    double error = 0.0;
    const int step = n / 300 + 1;
    for (int token = 0; token < n; token += step) {
        const int slot = slots[token];
        if (slot < 0) continue;
        const int head = token % HEADS;
        for (int pair = 0; pair < PAIRS; pair += 21) {
            const size_t from = ((size_t)token * HEADS + head) * HEAD + pair;
            const size_t to =
                (((size_t)(slot / PAGE) * HEADS + head) * PAGE + slot % PAGE) * HEAD + pair;
            const float angle = positions[token] * frequencies[pair];
            const double first = half_value(keys[from]), second = half_value(keys[from + PAIRS]);
            const double low = first * cos(angle) - second * sin(angle);
            const double high = second * cos(angle) + first * sin(angle);
            error = fmax(error, fabs(half_value(key_cache[to]) - low));
            error = fmax(error, fabs(half_value(key_cache[to + PAIRS]) - high));
            if (value_cache[to] != values[from]) error = 1.0;
            if (value_cache[to + PAIRS] != values[from + PAIRS]) error = 1.0;
        }
    }
    return verdict(beyond_last_bit(error));
}

// Optimizers: a step of descent on n weights kept as bfloat16, in place. What bfloat16 cannot hold
// is rounded up or down by chance, from a hash of the place and the step.
//
//     nvcc -O2 -o stochastic_bf16 stochastic_bf16.cu && ./stochastic_bf16 100000

#include <cuda_bf16.h>

#include "checked.h"

__device__ __nv_bfloat16 round_by_chance(float value, uint32_t chance) {
    const uint32_t bits = __float_as_uint(value) + (chance & 0xffffu);
    return __ushort_as_bfloat16((unsigned short)(bits >> 16));
}

__global__ void descend(__nv_bfloat16 *__restrict__ weights,
                        const __nv_bfloat16 *__restrict__ gradients, size_t count, float rate,
                        uint32_t step) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const float w = __bfloat162float(weights[i]);
    const float moved = fmaf(-rate, __bfloat162float(gradients[i]), w);
    weights[i] = round_by_chance(moved, mixed((uint32_t)i ^ step * 0x9e3779b9u));
}

static float value(uint16_t bits) {
    const uint32_t word = (uint32_t)bits << 16;
    float number;
    memcpy(&number, &word, sizeof number);
    return number;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 450000000);
    std::vector<uint16_t> weights = quick_bits<uint16_t>(n, 3031),
                          gradients = quick_bits<uint16_t>(n, 3032);
    // Magnitudes from 1/16 to 1, and either sign.
    for (uint16_t &bits : weights) bits = (uint16_t)((bits & 0x81ffu) | 0x3d80u);
    for (uint16_t &bits : gradients) bits = (uint16_t)((bits & 0x81ffu) | 0x3d80u);
    uint16_t *d_weights = to_device(weights), *d_gradients = to_device(gradients);
    const float rate = 0.003f;
    const uint32_t step = 7;

    descend<<<blocks_for(n, 512), 512>>>((__nv_bfloat16 *)d_weights,
                                         (const __nv_bfloat16 *)d_gradients, (size_t)n, rate, step);
    finish_launches();

    const std::vector<uint16_t> moved = from_device(d_weights, n);
    double sum = 0.0;
    for (const uint16_t bits : moved) sum += value(bits);
    printf("checksum of weights: %.10g\n", sum);
    return verdict(sampled_wrong(n, [&](size_t i) {
        const float exact = fmaf(-rate, value(gradients[i]), value(weights[i]));
        uint32_t bits;
        memcpy(&bits, &exact, sizeof bits);
        bits += mixed((uint32_t)i ^ step * 0x9e3779b9u) & 0xffffu;
        return moved[i] == bits >> 16;
    }));
}

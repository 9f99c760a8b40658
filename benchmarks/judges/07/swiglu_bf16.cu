// The gated activation of a transformer's feed-forward layer in bfloat16: silu(gate) * up, where
// n rows hold 2736 gates and as many others behind them. Two numbers per thread.
//
//     nvcc -O2 -o swiglu_bf16 swiglu_bf16.cu && ./swiglu_bf16 1000

#include <cuda_bf16.h>

#include "../host.h"

#define HIDDEN 2736

__global__ void swiglu(const __nv_bfloat162 *__restrict__ input, __nv_bfloat162 *output,
                       int pairs, int hidden_pairs) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= pairs) return;
    int row = idx / hidden_pairs;
    int col = idx % hidden_pairs;
    const __nv_bfloat162 *gates = input + 2 * (size_t)row * hidden_pairs;
    float2 gate = __bfloat1622float2(gates[col]);
    float2 up = __bfloat1622float2(gates[hidden_pairs + col]);
    float first = gate.x / (1.0f + __expf(-gate.x)) * up.x;
    float second = gate.y / (1.0f + __expf(-gate.y)) * up.y;
    output[idx] = __floats2bfloat162_rn(first, second);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 4, 1 << 19);
    const size_t count = (size_t)n * HIDDEN;
    std::vector<__nv_bfloat16> input(2 * count);
    for (size_t e = 0; e < input.size(); e++)
        input[e] = __float2bfloat16(mixed((uint32_t)e) * 0x1p-29f - 4.0f);
    const __nv_bfloat162 *d_input = (const __nv_bfloat162 *)to_device(input);
    __nv_bfloat16 *d_output = device_zeros<__nv_bfloat16>(count);

    const int pairs = (int)(count / 2), threads = 256;
    swiglu<<<(pairs + threads - 1) / threads, threads>>>(d_input, (__nv_bfloat162 *)d_output,
                                                         pairs, HIDDEN / 2);
    finish_launches();

    // The result has eight bits: a difference of one in the last is no error.
    const std::vector<__nv_bfloat16> output = from_device(d_output, count);
    std::vector<float> beyond(1000);
    for (size_t s = 0; s < beyond.size(); s++) {
        const size_t e = s * (count / beyond.size()), row = e / HIDDEN, col = e % HIDDEN;
        const float gate = __bfloat162float(input[2 * row * HIDDEN + col]);
        const float up = __bfloat162float(input[(2 * row + 1) * HIDDEN + col]);
        const float wanted = gate / (1.0f + expf(-gate)) * up;
        const float difference = fabsf(__bfloat162float(output[e]) - wanted);
        beyond[s] = fmaxf(difference - 0.008f * fabsf(wanted) - 1e-6f, 0.0f);
    }
    return verdict(sampled_error(beyond, [](size_t) { return 0.0f; }));
}

// Neural networks: a bias for each of n columns, then no negative ones, in n/3 + 1 rows of
// bfloat16.
//
//     nvcc -O2 -o bfloat_bias bfloat_bias.cu && ./bfloat_bias 1500

#include <cuda_bf16.h>

#include "checksum.h"

__global__ void bias_relu_bf16(const __nv_bfloat16 *__restrict__ in,
                               const __nv_bfloat16 *__restrict__ bias,
                               __nv_bfloat16 *__restrict__ out, int rows, int cols) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows || col >= cols) return;
    const float v = __bfloat162float(in[row * cols + col]) + __bfloat162float(bias[col]);
    out[row * cols + col] = __float2bfloat16(v > 0.0f ? v : 0.0f);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 60, 25000);
    const int rows = n / 3 + 1;
    const size_t count = (size_t)rows * n;
    const std::vector<float> values = quick_values(count, 2291), biases = quick_values(n, 2292);
    std::vector<uint16_t> in(count), bias(n);
    for (size_t i = 0; i < count; i++) in[i] = bfloat_bits(values[i] - 0.5f);
    for (int i = 0; i < n; i++) bias[i] = bfloat_bits(biases[i] - 0.5f);
    const uint16_t *d_in = to_device(in), *d_bias = to_device(bias);
    uint16_t *d_out = device_zeros<uint16_t>(count);

    dim3 block(64, 4);
    dim3 grid((n + block.x - 1) / block.x, (rows + block.y - 1) / block.y);
    bias_relu_bf16<<<grid, block>>>((const __nv_bfloat16 *)d_in, (const __nv_bfloat16 *)d_bias,
                                    (__nv_bfloat16 *)d_out, rows, n);
    finish_launches();

    const std::vector<uint16_t> bits = from_device(d_out, count);
    std::vector<float> out(count);
    for (size_t i = 0; i < count; i++) out[i] = bfloat_value(bits[i]);
    print_checksum("out", out);
    const double error = sampled_error(out, [&](size_t e) {
        return fmaxf(bfloat_value(in[e]) + bfloat_value(bias[e % n]), 0.0f);
    });
    return verdict(error <= 6e-3 ? 0.0 : error);
}

// Neural networks: n/2 + 1 rows of n bytes with sign to floats, a scale and a zero for each
// column.
//
//     nvcc -O2 -o dequantise_columns dequantise_columns.cu && ./dequantise_columns 1500

#include "checksum.h"

__global__ void dequantizePerChannel(const int8_t *q, const float *scale, const int8_t *zero,
                                     float *out, int total, int channels) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < total) {
        int c = i % channels;
        out[i] = scale[c] * (float)(q[i] - zero[c]);
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 60, 25000);
    const int rows = n / 2 + 1, total = rows * n;
    const std::vector<int8_t> q = quick_bits<int8_t>(total, 2251);
    const std::vector<int8_t> zero = quick_bits<int8_t>(n, 2252);
    const std::vector<float> scale = quick_values(n, 2253);
    const int8_t *d_q = to_device(q), *d_zero = to_device(zero);
    const float *d_scale = to_device(scale);
    float *d_out = device_zeros<float>(total);

    int block_size = 1024;
    int num_blocks = (total + block_size - 1) / block_size;
    dequantizePerChannel<<<num_blocks, block_size>>>(d_q, d_scale, d_zero, d_out, total, n);
    finish_launches();

    const std::vector<float> out = from_device(d_out, total);
    print_checksum("out", out);
    return verdict(sampled_error(
        out, [&](size_t e) { return scale[e % n] * (float)(q[e] - zero[e % n]); }));
}

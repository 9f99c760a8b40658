// Weights of four bits to half precision: n rows of 4096, of which 128 neighbours share a scale and
// a zero. A thread unpacks a word of eight weights and stores them at once.
//
//     nvcc -O2 -o dequant_int4 dequant_int4.cu && ./dequant_int4 1000

#include <cuda_fp16.h>

#include "../host.h"

#define COLUMNS 4096
#define GROUP 128

struct alignas(16) EightHalves {
    __half2 pairs[4];
};

__global__ void dequantize(const unsigned *__restrict__ packed, const __half *__restrict__ scales,
                           const unsigned char *__restrict__ zeros,
                           EightHalves *__restrict__ weights, int words) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= words) return;
    const unsigned word = packed[i];
    const int group = i / (GROUP / 8), zero = zeros[group];
    const __half2 scale = __half2half2(scales[group]);
    EightHalves out;
    for (int p = 0; p < 4; p++) {
        const int low = (int)(word >> 8 * p & 15u), high = (int)(word >> (8 * p + 4) & 15u);
        const __half2 shifted =
            __halves2half2(__int2half_rn(low - zero), __int2half_rn(high - zero));
        out.pairs[p] = __hmul2(shifted, scale);
    }
    weights[i] = out;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 4, 1 << 19);
    const int words = n * (COLUMNS / 8);
    const size_t count = (size_t)n * COLUMNS, groups = count / GROUP;
    const std::vector<unsigned> packed = quick_bits<unsigned>(words, 1);
    const std::vector<float> values = quick_values(groups, 2);
    std::vector<unsigned char> zeros = quick_bits<unsigned char>(groups, 3);
    std::vector<__half> scales(groups);
    for (size_t g = 0; g < groups; g++) {
        scales[g] = __float2half(0.01f + 0.02f * values[g]);
        zeros[g] = (unsigned char)(zeros[g] & 15);
    }
    const unsigned *d_packed = to_device(packed);
    const __half *d_scales = to_device(scales);
    const unsigned char *d_zeros = to_device(zeros);
    __half *d_weights = device_zeros<__half>(count);

    const int threads = 256;
    dequantize<<<(words + threads - 1) / threads, threads>>>(d_packed, d_scales, d_zeros,
                                                             (EightHalves *)d_weights, words);
    finish_launches();

    const std::vector<__half> weights = from_device(d_weights, count);
    const size_t step = count / 1000 + 1;
    std::vector<float> found;
    for (size_t e = 0; e < count; e += step) found.push_back(__half2float(weights[e]));
    return verdict(sampled_error(found, [&](size_t s) {
        const size_t e = s * step;
        const int weight = (int)(packed[e / 8] >> 4 * (e % 8) & 15u) - zeros[e / GROUP];
        return __half2float(__float2half((float)weight * __half2float(scales[e / GROUP])));
    }));
}

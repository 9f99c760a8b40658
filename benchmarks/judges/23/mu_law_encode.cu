// Telephony: n samples of 16 bits, made louder by a gain, to bytes by the mu-law of G.711.
//
//     nvcc -O2 -o mu_law_encode mu_law_encode.cu && ./mu_law_encode 100000

#include "checked.h"

__global__ void mu_law(const short *pcm, unsigned char *coded, int samples, int gain_q8) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= samples) return;
    int v = (pcm[i] * gain_q8) >> 8;
    int sign = v < 0 ? 0x80 : 0;
    v = min(abs(v), 32635) + 132;
    int exponent = 24 - __clz(v);
    int mantissa = (v >> (exponent + 3)) & 15;
    coded[i] = (unsigned char)~(sign | exponent << 4 | mantissa);
}

static uint8_t coded_by_host(int16_t sample, int gain_q8) {
    const int scaled = (sample * gain_q8) >> 8;
    const int magnitude = std::min(std::abs(scaled), 32635) + 132;
    int exponent = 7;
    while (exponent > 0 && magnitude < (1 << (exponent + 7))) exponent--;
    const int mantissa = magnitude / (1 << (exponent + 3)) % 16;
    return (uint8_t)(255 - ((scaled < 0 ? 128 : 0) + exponent * 16 + mantissa));
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 700000000), gain_q8 = 333;
    const std::vector<int16_t> pcm = quick_bits<int16_t>(n, 3001);
    const short *d_pcm = to_device(pcm);
    unsigned char *d_coded = device_zeros<unsigned char>(n);

    const int block = 256;
    mu_law<<<(n + block - 1) / block, block>>>(d_pcm, d_coded, n, gain_q8);
    finish_launches();

    const std::vector<uint8_t> coded = from_device(d_coded, n);
    say_sum("codes", coded);
    return verdict(sampled_wrong(
        n, [&](size_t i) { return coded[i] == coded_by_host(pcm[i], gain_q8); }));
}

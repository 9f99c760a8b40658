// Base64: n groups of three bytes become n groups of four letters, a group per thread.
//
//     nvcc -O2 -o base64_encode base64_encode.cu && ./base64_encode 1000000

#include "../host.h"

__device__ unsigned char letter(unsigned six) {
    if (six < 26) return 'A' + six;
    if (six < 52) return 'a' + (six - 26);
    if (six < 62) return '0' + (six - 52);
    return six == 62 ? '+' : '/';
}

__global__ void base64_encode(const unsigned char *bytes, uchar4 *text, size_t groups) {
    const size_t group = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (group < groups) {
        const unsigned a = bytes[3 * group];
        const unsigned b = bytes[3 * group + 1];
        const unsigned c = bytes[3 * group + 2];
        const unsigned bits = a << 16 | b << 8 | c;
        text[group] = make_uchar4(letter(bits >> 18), letter(bits >> 12 & 63),
                                  letter(bits >> 6 & 63), letter(bits & 63));
    }
}

int main(int argc, char **argv) {
    const size_t n = size_argument(argc, argv, 1000, 1 << 28);
    const std::vector<unsigned char> bytes = quick_bits<unsigned char>(3 * n, 1);
    const unsigned char *d_bytes = to_device(bytes);
    unsigned char *d_text = device_zeros<unsigned char>(4 * n);

    const int block = 256;
    base64_encode<<<(unsigned)((n + block - 1) / block), block>>>(d_bytes, (uchar4 *)d_text, n);
    finish_launches();

    const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    return verdict(sampled_error(from_device(d_text, 4 * n), [&](size_t e) {
        const unsigned char *group = &bytes[e / 4 * 3];
        const unsigned bits = group[0] << 16 | group[1] << 8 | group[2];
        return letters[bits >> (18 - 6 * (e % 4)) & 63];
    }));
}

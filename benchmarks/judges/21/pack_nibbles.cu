// Compression: n pairs of numbers of four bits, a byte each, to n bytes.
//
//     nvcc -O2 -o pack_nibbles pack_nibbles.cu && ./pack_nibbles 1000000

#include "checksum.h"

__global__ void pack4(const uint8_t *codes, uint8_t *packed, int n_packed) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n_packed) return;
    uint8_t low = codes[2 * i] & 0x0f;
    uint8_t high = codes[2 * i + 1] & 0x0f;
    packed[i] = low | (high << 4);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 3000, 300000000);
    const std::vector<uint8_t> codes = quick_bits<uint8_t>(2 * (size_t)n, 2261);
    const uint8_t *d_codes = to_device(codes);
    uint8_t *d_packed = device_zeros<uint8_t>(n);

    pack4<<<(n + 255) / 256, 256>>>(d_codes, d_packed, n);
    finish_launches();

    const std::vector<uint8_t> packed = from_device(d_packed, n);
    print_checksum("packed", packed);
    return verdict(sampled_error(
        packed, [&](size_t e) { return (codes[2 * e] & 15) | (codes[2 * e + 1] & 15) << 4; }));
}

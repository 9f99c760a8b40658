// Text: n numbers between commas, such as -12.345, 7 or 1.5e-3, become floats. Where each begins
// is known; a thread reads its number byte by byte.
//
//     nvcc -O2 -o csv_floats csv_floats.cu && ./csv_floats 5000000

#include "repeated.h"

__host__ __device__ inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

__host__ __device__ inline float parsed(const char *text) {
    const bool is_negative = *text == '-';
    if (is_negative) text++;
    double value = 0.0;
    int exponent = 0;
    while (is_digit(*text)) value = 10.0 * value + (*text++ - '0');
    if (*text == '.') {
        text++;
        while (is_digit(*text)) {
            value = 10.0 * value + (*text++ - '0');
            exponent--;
        }
    }
    if (*text == 'e') {
        text++;
        const bool is_small = *text == '-';
        if (is_small) text++;
        int power = 0;
        while (is_digit(*text)) power = 10 * power + (*text++ - '0');
        exponent += is_small ? -power : power;
    }
    for (; exponent > 0; exponent--) value *= 10.0;
    for (; exponent < 0; exponent++) value *= 0.1;
    return (float)(is_negative ? -value : value);
}

__global__ void parse_numbers(const char *__restrict__ text, const unsigned *__restrict__ starts,
                              float *__restrict__ values, unsigned count) {
    const unsigned stride = gridDim.x * blockDim.x;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
        values[i] = parsed(text + starts[i]);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 200000000);
    const int made = (int)piece_of(n, 1 << 20);
    std::vector<char> text(16 * (size_t)made);
    std::vector<unsigned> starts(n);
    char *end = text.data();
    for (int i = 0; i < made; i++) {
        starts[i] = (unsigned)(end - text.data());
        uint32_t bits = mixed(i + 271u);
        const int before = 1 + (bits & 3) % 3, after = bits >> 2 & 7;
        if (bits >> 5 & 1) *end++ = '-';
        const bool has_power = (bits >> 6 & 15) == 0;
        bits >>= 4;
        for (int k = 0; k < before + after; k++) {
            if (k == before) *end++ = '.';
            *end++ = (char)('0' + bits % 10);
            bits = bits / 10 + 0x10000000u;
        }
        if (has_power) {
            *end++ = 'e';
            if (bits & 1) *end++ = '-';
            *end++ = (char)('0' + (bits >> 1 & 1));
        }
        *end++ = ',';
    }
    text.resize(end - text.data());
    for (int i = made; i < n; i++) starts[i] = starts[i - made] + (unsigned)text.size();
    const char *d_text = repeated_on_device(text, text.size() * ((size_t)n / made + 1));
    const unsigned *d_starts = to_device(starts);
    float *d_values = device_zeros<float>(n);

    const int threads = 256, most_blocks = 4096;
    const int blocks = (n + threads - 1) / threads;
    parse_numbers<<<blocks < most_blocks ? blocks : most_blocks, threads>>>(d_text, d_starts,
                                                                            d_values, n);
    finish_launches();

    // Each by itself: the largest are ten thousand times as large as many others.
    const std::vector<float> values = from_device(d_values, n);
    return verdict(sampled_error(values, [&](size_t i) {
        const double wanted = strtod(text.data() + starts[i % made], nullptr);
        return fabs(values[i] - wanted) <= 1e-6 * fabs(wanted) ? wanted : 1e30;
    }));
}

// Radio: n complex samples in floats out of 5n + 2 in shorts, every fifth, each weighted with its
// two neighbours and turned by one of 40 phases.
//
//     nvcc -O2 -o mix_decimate mix_decimate.cu && ./mix_decimate 50000

#include "checked.h"

struct Sample {
    short i, q;
};

struct Complex {
    float re, im;
};

__global__ void mix_down(const Sample *in, const Complex *phases, Complex *out, int outputs,
                         int step, int period) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= outputs) return;
    const Sample *at = in + (size_t)k * step;
    const Sample before = at[0], here = at[1], after = at[2];
    const float re = 0.5f * here.i + 0.25f * (before.i + after.i);
    const float im = 0.5f * here.q + 0.25f * (before.q + after.q);
    const Complex turn = phases[k % period];
    out[k] = {re * turn.re - im * turn.im, re * turn.im + im * turn.re};
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 500, 70000000), step = 5, period = 40;
    const size_t inputs = (size_t)n * step + 2;
    const std::vector<uint32_t> words = quick_bits<uint32_t>(inputs, 3071);
    std::vector<Complex> phases(period);
    for (int p = 0; p < period; p++) {
        const double angle = -2.0 * 3.14159265358979 * 7 * p / period;
        phases[p] = {(float)cos(angle), (float)sin(angle)};
    }
    const Sample *d_in = (const Sample *)to_device(words);
    const Complex *d_phases = to_device(phases);
    Complex *d_out = device_zeros<Complex>(n);

    mix_down<<<(n + 127) / 128, 128>>>(d_in, d_phases, d_out, n, step, period);
    finish_launches();

    const std::vector<Complex> out = from_device(d_out, n);
    double sum = 0.0;
    for (const Complex &c : out) sum += (double)c.re + 2.0 * c.im;
    printf("checksum of samples: %.10g\n", sum);
    std::vector<float> parts(2 * (size_t)n);
    memcpy(parts.data(), out.data(), parts.size() * sizeof(float));
    return verdict(sampled_error(parts, [&](size_t e) {
        const size_t k = e / 2;
        auto part = [&](int shift) {
            auto of = [&](size_t i) { return (double)(int16_t)(words[i] >> shift); };
            return 0.5 * of(k * step + 1) + 0.25 * (of(k * step) + of(k * step + 2));
        };
        const Complex turn = phases[k % period];
        return e % 2 == 0 ? part(0) * turn.re - part(16) * turn.im
                          : part(0) * turn.im + part(16) * turn.re;
    }));
}

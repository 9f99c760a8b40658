// Audio: n samples of 48 voices by additive synthesis. A voice has 8 to 63 partials, each with a
// phase of 32 bits that wraps around, an amplitude and a decay.
//
//     nvcc -O2 -o additive_synth additive_synth.cu && ./additive_synth 80000

#include "../host.h"

#define VOICES 48

struct Partial {
    uint32_t increment;  // of the phase, per sample
    float amplitude;
    float decay;  // per second
};

__global__ void render(const Partial *__restrict__ partials, const int *__restrict__ first,
                       float *__restrict__ out, int samples, int voices, float seconds) {
    const int sample = blockIdx.x * blockDim.x + threadIdx.x;
    const int voice = blockIdx.y * blockDim.y + threadIdx.y;
    if (sample >= samples || voice >= voices) return;
    const float time = seconds * sample;
    float sum = 0.0f;
    for (int p = first[voice]; p < first[voice + 1]; p++) {
        const Partial partial = partials[p];
        const int phase = (int)(partial.increment * (uint32_t)sample);
        sum += partial.amplitude * __expf(-partial.decay * time) *
               sinpif(phase * (1.0f / 2147483648.0f));
    }
    out[(size_t)voice * samples + sample] = sum;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 256, 20000000);
    const float seconds = 1.0f / 48000;
    std::vector<int> first(1, 0);
    std::vector<Partial> partials;
    for (int voice = 0; voice < VOICES; voice++) {
        const uint32_t bits = mixed(voice + 1700u);
        const int count = 8 + (int)(bits % 56);
        const double pitch = 55.0 * pow(2.0, voice / 12.0);
        for (int k = 1; k <= count; k++) {
            const double cycles = fmod(pitch * k / 48000.0, 1.0);
            partials.push_back({(uint32_t)(cycles * 4294967296.0), 1.0f / k, 0.02f * k});
        }
        first.push_back((int)partials.size());
    }
    const Partial *d_partials = to_device(partials);
    const int *d_first = to_device(first);
    float *d_out = device_zeros<float>((size_t)VOICES * n);

    dim3 block(128, 2);
    dim3 grid((n + block.x - 1) / block.x, (VOICES + block.y - 1) / block.y);
    render<<<grid, block>>>(d_partials, d_first, d_out, n, VOICES, seconds);
    finish_launches();

    return verdict(sampled_error(from_device(d_out, (size_t)VOICES * n), [&](size_t e) {
        const int voice = (int)(e / n);
        const uint32_t sample = (uint32_t)(e % n);
        double sum = 0.0;
        for (int p = first[voice]; p < first[voice + 1]; p++) {
            const int phase = (int)(partials[p].increment * sample);
            sum += partials[p].amplitude * exp(-(double)partials[p].decay * seconds * sample) *
                   sin(phase * (M_PI / 2147483648.0));
        }
        return sum;
    }));
}

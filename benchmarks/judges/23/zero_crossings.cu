// Speech: the energy of n frames of 400 samples, each 160 after the one before, and how often the
// signal crosses zero by more than a level; a thread per frame.
//
//     nvcc -O2 -o zero_crossings zero_crossings.cu && ./zero_crossings 5000

#include "checked.h"

struct Frame {
    float energy;
    int crossings;
};

__global__ void describe_frames(const int16_t *samples, Frame *frames, int count, int hop,
                                int length, int level) {
    int f = blockIdx.x * blockDim.x + threadIdx.x;
    if (f < count) {
        const int16_t *s = samples + (size_t)f * hop;
        long long energy = 0;
        int crossings = 0, side = 0;
        for (int i = 0; i < length; ++i) {
            int v = s[i];
            energy += v * v;
            int now = v > level ? 1 : v < -level ? -1 : side;
            if (now * side < 0) ++crossings;
            side = now;
        }
        frames[f] = {(float)energy / (float)length, crossings};
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 30, 4000000), hop = 160, length = 400, level = 900;
    const size_t count = (size_t)n * hop + (length - hop);
    std::vector<int16_t> samples = quick_bits<int16_t>(count, 3111);
    for (size_t i = 0; i < count; i++)
        samples[i] = (int16_t)(samples[i] / 16 +
                               (i / 37 % 2 == 0 ? 1 : -1) * (int)(i / 1000 % 3000));
    const int16_t *d_samples = to_device(samples);
    Frame *d_frames = device_zeros<Frame>(n);

    describe_frames<<<(n + 255) / 256, 256>>>(d_samples, d_frames, n, hop, length, level);
    finish_launches();

    const std::vector<Frame> frames = from_device(d_frames, n);
    std::vector<float> energy(n);
    double crossings = 0.0;
    for (int f = 0; f < n; f++) energy[f] = frames[f].energy, crossings += frames[f].crossings;
    say_sum("energies", energy);
    printf("crossings: %.0f\n", crossings);
    const double wrong = sampled_wrong(n, [&](size_t f) {
        int found = 0, last = 0;
        for (size_t i = f * hop; i < f * hop + length; i++) {
            if (std::abs(samples[i]) <= level) continue;
            if (last != 0 && (samples[i] > 0) != (last > 0)) found++;
            last = samples[i];
        }
        return frames[f].crossings == found;
    });
    return verdict(wrong + sampled_error(energy, [&](size_t f) {
        double sum = 0.0;
        for (size_t i = f * hop; i < f * hop + length; i++) sum += (double)samples[i] * samples[i];
        return sum / length;
    }));
}

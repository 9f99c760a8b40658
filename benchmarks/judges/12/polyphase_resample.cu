// Audio from 44100 to 48000 samples per second: each of n new samples from 24 old ones with the
// weights of one of 160 phases.
//
//     nvcc -O2 -o polyphase_resample polyphase_resample.cu && ./polyphase_resample 1000000

#include "../host.h"

#define UP 160
#define DOWN 147
#define TAPS 24

__global__ void resample(const float *__restrict__ in, const float *__restrict__ weights,
                         float *__restrict__ out, int samples) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < samples) {
        const long long place = (long long)i * DOWN;
        const int first = (int)(place / UP), phase = (int)(place % UP);
        float sum = 0.0f;
        for (int k = 0; k < TAPS; k++) sum += weights[k * UP + phase] * in[first + k];
        out[i] = sum;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1 << 28);
    const size_t inputs = (size_t)((long long)n * DOWN / UP) + TAPS + 1;
    std::vector<float> in = quick_values(inputs, 1), weights(UP * TAPS);
    for (float &sample : in) sample -= 0.5f;
    // A sine over its argument, with Hann's window.
    for (int phase = 0; phase < UP; phase++)
        for (int k = 0; k < TAPS; k++) {
            const double at = k - TAPS / 2 + 1 - phase / (double)UP, angle = 3.14159265 * at * 0.9;
            const double window = cos(3.14159265 * at / TAPS);
            weights[k * UP + phase] =
                (float)((fabs(angle) < 1e-9 ? 1.0 : sin(angle) / angle) * 0.9 * window * window);
        }
    const float *d_in = to_device(in), *d_weights = to_device(weights);
    float *d_out = device_zeros<float>(n);

    const int threads = 256, blocks = (n + threads - 1) / threads;
    resample<<<blocks, threads>>>(d_in, d_weights, d_out, n);
    finish_launches();

    return verdict(sampled_error(from_device(d_out, n), [&](size_t i) {
        const size_t place = i * DOWN;
        double sum = 0.0;
        for (int k = 0; k < TAPS; k++)
            sum += (double)weights[k * UP + place % UP] * in[place / UP + k];
        return sum;
    }));
}

// One step of the Adam optimiser: moments and weights of n parameters, by a fixed grid whose
// threads go on in strides of the grid.
//
//     nvcc -O2 -o adam_step adam_step.cu && ./adam_step 1000000

#include "../judge.h"

struct Rates {
    float step, decay1, decay2, correction1, correction2, epsilon;
};

__global__ void adam_step(int n, Rates rates, const float *gradient, float *first, float *second,
                          float *weights) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const float g = gradient[i];
        const float m = rates.decay1 * first[i] + (1.0f - rates.decay1) * g;
        const float v = rates.decay2 * second[i] + (1.0f - rates.decay2) * g * g;
        first[i] = m;
        second[i] = v;
        const float root = sqrtf(v * rates.correction2) + rates.epsilon;
        weights[i] -= rates.step * m * rates.correction1 / root;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 10000, 1 << 28);
    const std::vector<float> gradient = fixed_values(n, 1), first = fixed_values(n, 2);
    const std::vector<float> second = fixed_values(n, 3), weights = fixed_values(n, 4);
    const float *device_gradient = to_device(gradient);
    float *device_first = to_device(first), *device_second = to_device(second);
    float *device_weights = to_device(weights);

    const int iteration = 10;
    const float decay1 = 0.9f, decay2 = 0.999f;
    const Rates rates = {0.01f,
                         decay1,
                         decay2,
                         1.0f / (1.0f - powf(decay1, iteration)),
                         1.0f / (1.0f - powf(decay2, iteration)),
                         1e-8f};
    const int threads = 256;
    const int blocks = 2048;
    adam_step<<<blocks, threads>>>(n, rates, device_gradient, device_first, device_second,
                                   device_weights);
    finish_launches();

    return verdict(sampled_error(from_device(device_weights, n), [&](size_t i) {
        const double g = gradient[i];
        const double m = decay1 * first[i] + (1.0 - decay1) * g;
        const double v = decay2 * second[i] + (1.0 - decay2) * g * g;
        const double root = sqrt(v * rates.correction2) + rates.epsilon;
        return weights[i] - rates.step * m * rates.correction1 / root;
    }));
}

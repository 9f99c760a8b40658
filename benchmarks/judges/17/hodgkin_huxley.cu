// Neuroscience: ten steps of 0.01 ms of n Hodgkin-Huxley neurons. The gates follow the Rush-
// Larsen scheme, the voltage Euler's; the arrays come in a structure of pointers.
//
//     nvcc -O2 -o hodgkin_huxley hodgkin_huxley.cu && ./hodgkin_huxley 3000000

#include "repeated.h"

#define STEPS 10

struct Neurons {
    float *v, *m, *h, *n;
    const float *current;
};

struct State {
    float v, m, h, n;
};

// x / (1 - exp(-x)), and its limit at zero.
__host__ __device__ inline float linoid(float x) {
    return fabsf(x) < 1e-3f ? 1.0f + 0.5f * x : x / (1.0f - expf(-x));
}

__host__ __device__ inline float relax(float gate, float alpha, float beta, float dt) {
    const float rate = alpha + beta, target = alpha / rate;
    return target + (gate - target) * expf(-dt * rate);
}

__host__ __device__ inline State advance(State s, float current, float dt) {
    const float sodium = 120.0f * s.m * s.m * s.m * s.h;
    const float potassium = 36.0f * s.n * s.n * s.n * s.n;
    const float total =
        current - sodium * (s.v - 50.0f) - potassium * (s.v + 77.0f) - 0.3f * (s.v + 54.387f);
    State next;
    next.m = relax(s.m, linoid(0.1f * (s.v + 40.0f)), 4.0f * expf((s.v + 65.0f) * (-1.0f / 18.0f)),
                   dt);
    next.h = relax(s.h, 0.07f * expf((s.v + 65.0f) * -0.05f),
                   1.0f / (1.0f + expf((s.v + 35.0f) * -0.1f)), dt);
    next.n = relax(s.n, 0.1f * linoid(0.1f * (s.v + 55.0f)),
                   0.125f * expf((s.v + 65.0f) * (-1.0f / 80.0f)), dt);
    next.v = s.v + dt * total;
    return next;
}

__global__ void step_neurons(Neurons neurons, int count, float dt) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    State state = {neurons.v[i], neurons.m[i], neurons.h[i], neurons.n[i]};
    const float current = neurons.current[i];
    for (int step = 0; step < STEPS; step++) state = advance(state, current, dt);
    neurons.v[i] = state.v;
    neurons.m[i] = state.m;
    neurons.h[i] = state.h;
    neurons.n[i] = state.n;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 200000000);
    const float dt = 0.01f;
    const size_t made = piece_of(n, 1 << 20);
    std::vector<float> voltage = quick_values(made, 1), current = quick_values(made, 5);
    for (size_t i = 0; i < made; i++) {
        voltage[i] = 100.0f * voltage[i] - 80.0f;
        current[i] *= 20.0f;
    }
    const std::vector<float> m = quick_values(made, 2), h = quick_values(made, 3),
                             g = quick_values(made, 4);
    const Neurons neurons = {repeated_on_device(voltage, n), repeated_on_device(m, n),
                             repeated_on_device(h, n), repeated_on_device(g, n),
                             repeated_on_device(current, n)};

    const int threads = 256;
    step_neurons<<<(n + threads - 1) / threads, threads>>>(neurons, n, dt);
    finish_launches();

    const auto after = [&](size_t neuron) {
        const size_t i = neuron % made;
        State state = {voltage[i], m[i], h[i], g[i]};
        for (int step = 0; step < STEPS; step++) state = advance(state, current[i], dt);
        return state;
    };
    const double voltage_error =
        sampled_error(from_device(neurons.v, n), [&](size_t i) { return after(i).v; });
    const double gate_error =
        sampled_error(from_device(neurons.h, n), [&](size_t i) { return after(i).h; });
    return verdict(fmax(voltage_error, gate_error));
}

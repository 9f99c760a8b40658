// How likely 2000 daily returns are under each of n GARCH(1,1) models: a search over a grid of
// parameters, where a thread follows one model through all days.
//
//     nvcc -O2 -o garch_likelihood garch_likelihood.cu && ./garch_likelihood 2000

#include "../host.h"

#define DAYS 2000

__global__ void garch_likelihood(int models, const float *returns, const float *base,
                                 const float *shock, const float *memory, float *likelihood) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= models) return;
    const float omega = base[i], alpha = shock[i], beta = memory[i];
    float variance = omega / (1.0f - alpha - beta), sum = 0.0f;
    for (int day = 0; day < DAYS; day++) {
        const float square = returns[day] * returns[day];
        sum += logf(variance) + square / variance;
        variance = omega + alpha * square + beta * variance;
    }
    likelihood[i] = -0.5f * sum / DAYS;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 200, 10000000);
    std::vector<float> returns = quick_values(DAYS, 1), base = quick_values(n, 2);
    std::vector<float> shock = quick_values(n, 3), memory = quick_values(n, 4);
    for (float &value : returns) value = 4.0f * (value - 0.5f);
    for (float &value : base) value = 0.05f + 0.1f * value;
    for (float &value : shock) value = 0.05f + 0.1f * value;
    for (float &value : memory) value = 0.7f + 0.1f * value;
    float *device_returns = to_device(returns), *device_base = to_device(base);
    float *device_shock = to_device(shock), *device_memory = to_device(memory);
    float *likelihood = device_zeros<float>(n);

    const int threads = 128;
    garch_likelihood<<<blocks_for(n, threads), threads>>>(n, device_returns, device_base,
                                                          device_shock, device_memory, likelihood);
    finish_launches();

    return verdict(sampled_error(from_device(likelihood, n), [&](size_t e) {
        double variance = base[e] / (1.0 - shock[e] - memory[e]), sum = 0.0;
        for (const float value : returns) {
            const double square = (double)value * value;
            sum += log(variance) + square / variance;
            variance = base[e] + shock[e] * square + memory[e] * variance;
        }
        return -0.5 * sum / DAYS;
    }));
}

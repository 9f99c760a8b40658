// Prices of n American put options by a binomial tree of 256 steps: an option per block, which
// keeps the values of a step in shared memory and goes back from the last step to the first.
//
//     nvcc -O2 -o binomial_options binomial_options.cu && ./binomial_options 1000

#include "../host.h"

#define STEPS 256

struct Option {
    float price, strike, years;
};

struct Market {
    float rate, volatility;
};

#pragma cutune kernel binomial_options data(count) block(x: 32, 64, 128, 256, 512) grid(keep)
__global__ void binomial_options(const Option *__restrict__ options, float *__restrict__ values,
                                 int count, Market market) {
    __shared__ float tree[2][STEPS + 1];
    if (blockIdx.x >= count) return;
    const Option option = options[blockIdx.x];
    const float interval = option.years / STEPS;
    const float rise = market.volatility * sqrtf(interval), growth = expf(market.rate * interval);
    const float up = expf(rise), down = expf(-rise);
    const float p = (growth - down) / (up - down);
    const float weight_up = p / growth, weight_down = (1.0f - p) / growth;
    for (int i = threadIdx.x; i <= STEPS; i += blockDim.x) {
        const float price = option.price * expf(rise * (float)(2 * i - STEPS));
        tree[STEPS & 1][i] = fmaxf(option.strike - price, 0.0f);
    }
    __syncthreads();
    for (int step = STEPS - 1; step >= 0; step--) {
        const float *later = tree[(step + 1) & 1];
        float *now = tree[step & 1];
        for (int i = threadIdx.x; i <= step; i += blockDim.x) {
            const float held = weight_up * later[i + 1] + weight_down * later[i];
            const float price = option.price * expf(rise * (float)(2 * i - step));
            now[i] = fmaxf(held, option.strike - price);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) values[blockIdx.x] = tree[0][0];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 16, 1 << 24);
    std::vector<Option> options(n);
    for (int i = 0; i < n; i++) {
        auto part = [&](uint32_t k) { return (float)(mixed(3 * i + k) & 1023) / 1024.0f; };
        options[i] = {20.0f + 60.0f * part(0), 30.0f + 50.0f * part(1), 0.25f + 2.0f * part(2)};
    }
    const Market market = {0.03f, 0.28f};
    const Option *d_options = to_device(options);
    float *d_values = device_zeros<float>(n);

    binomial_options<<<n, 128>>>(d_options, d_values, n, market);
    finish_launches();

    return verdict(sampled_error(from_device(d_values, n), [&](size_t e) {
        const Option option = options[e];
        const double interval = option.years / STEPS, growth = exp(market.rate * interval);
        const double rise = market.volatility * sqrt(interval), up = exp(rise), down = exp(-rise);
        const double p = (growth - down) / (up - down);
        double prices[2 * STEPS + 1], tree[STEPS + 1];
        for (int i = 0; i <= 2 * STEPS; i++) prices[i] = option.price * exp(rise * (i - STEPS));
        for (int i = 0; i <= STEPS; i++) tree[i] = fmax(option.strike - prices[2 * i], 0.0);
        for (int step = STEPS - 1; step >= 0; step--)
            for (int i = 0; i <= step; i++)
                tree[i] = fmax((p * tree[i + 1] + (1.0 - p) * tree[i]) / growth,
                               option.strike - prices[2 * i - step + STEPS]);
        return tree[0];
    }));
}

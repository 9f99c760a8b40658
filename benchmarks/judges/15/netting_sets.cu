// Counterparty risk: what a netting set of 96 swaps is worth in each of n scenarios at each of 40
// dates, summed up in place, and the exposure that is left after collateral.
//
//     nvcc -O2 -o netting_sets netting_sets.cu && ./netting_sets 20000

#include "../host.h"

#define TRADES 96
#define DATES 40

__global__ void netting_sets(int scenarios, const float *rate, const float *notional,
                             const float *strike, const float *maturity, float threshold,
                             float *exposure) {
    const int scenario = blockIdx.x * blockDim.x + threadIdx.x;
    const int date = blockIdx.y * blockDim.y + threadIdx.y;
    if (scenario >= scenarios || date >= DATES) return;
    const int at = date * scenarios + scenario;
    exposure[at] = 0.0f;
    for (int k = 0; k < TRADES; k++) {
        const float left = fmaxf(maturity[k] - 0.25f * date, 0.0f);
        const float annuity = left / (1.0f + rate[at] * left);
        exposure[at] += notional[k] * (rate[at] - strike[k]) * annuity;
    }
    exposure[at] = fminf(fmaxf(exposure[at], 0.0f), threshold);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 2000000);
    const size_t count = (size_t)n * DATES;
    std::vector<float> rate = quick_values(count, 1), notional = quick_values(TRADES, 2);
    std::vector<float> strike = quick_values(TRADES, 3), maturity = quick_values(TRADES, 4);
    for (float &value : rate) value *= 0.08f;
    for (float &value : notional) value -= 0.3f;
    for (float &value : strike) value *= 0.06f;
    for (float &value : maturity) value *= 12.0f;
    const float threshold = 10.0f;
    float *device_rate = to_device(rate), *device_notional = to_device(notional);
    float *device_strike = to_device(strike), *device_maturity = to_device(maturity);
    float *exposure = device_zeros<float>(count);

    const dim3 block(128, 2);
    const dim3 grid(blocks_for(n, block.x), blocks_for(DATES, block.y));
    netting_sets<<<grid, block>>>(n, device_rate, device_notional, device_strike, device_maturity,
                                  threshold, exposure);
    finish_launches();

    return verdict(sampled_error(from_device(exposure, count), [&](size_t e) {
        const size_t date = e / n;
        double sum = 0.0;
        for (int k = 0; k < TRADES; k++) {
            const double left = fmax(maturity[k] - 0.25 * date, 0.0);
            sum += notional[k] * (rate[e] - strike[k]) * left / (1.0 + rate[e] * left);
        }
        return fmin(fmax(sum, 0.0), threshold);
    }));
}

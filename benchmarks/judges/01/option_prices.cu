// European call and put prices by Black and Scholes: logarithm, exponential, error function and
// square root for each element.
//
//     nvcc -O2 -o option_prices option_prices.cu && ./option_prices 100000

#include "../judge.h"

__host__ __device__ inline float normal(float x) { return 0.5f * erfcf(-0.70710678f * x); }

__host__ __device__ inline void price(float stock, float strike, float years, float *call,
                                      float *put) {
    const float rate = 0.02f, volatility = 0.3f;
    const float spread = volatility * sqrtf(years);
    const float d1 =
        (logf(stock / strike) + (rate + 0.5f * volatility * volatility) * years) / spread;
    const float d2 = d1 - spread, discounted = strike * expf(-rate * years);
    *call = stock * normal(d1) - discounted * normal(d2);
    *put = discounted * normal(-d2) - stock * normal(-d1);
}

__global__ void option_prices(int n, const float *stock, const float *strike, const float *years,
                              float *call, float *put) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) price(stock[i], strike[i], years[i], &call[i], &put[i]);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 10000, 1 << 26);
    std::vector<float> stock = fixed_values(n, 1), strike = fixed_values(n, 2);
    std::vector<float> years = fixed_values(n, 3);
    for (int i = 0; i < n; i++) {
        stock[i] = 10.0f + 50.0f * stock[i];
        strike[i] = 10.0f + 50.0f * strike[i];
        years[i] = 0.25f + 5.0f * years[i];
    }
    float *device_stock = to_device(stock), *device_strike = to_device(strike);
    float *device_years = to_device(years);
    float *device_call = to_device(std::vector<float>(n));
    float *device_put = to_device(std::vector<float>(n));

    const unsigned block = 256;
    option_prices<<<blocks_for(n, block), block>>>(n, device_stock, device_strike, device_years,
                                                   device_call, device_put);
    finish_launches();

    const std::vector<float> put = from_device(device_put, n);
    std::vector<float> sums = from_device(device_call, n);
    for (int i = 0; i < n; i++) sums[i] += put[i];
    return verdict(sampled_error(sums, [&](size_t i) {
        float expected_call, expected_put;
        price(stock[i], strike[i], years[i], &expected_call, &expected_put);
        return expected_call + expected_put;
    }));
}

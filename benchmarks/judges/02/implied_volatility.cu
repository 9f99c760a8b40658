// The volatility that explains the price of a European call, by Newton's method: logarithm, square
// root, exponential and error function in double precision, in a loop that ends when the price is
// met.
//
//     nvcc -O2 -o implied_volatility implied_volatility.cu && ./implied_volatility 100000

#include "../judge.h"

__host__ __device__ inline double call_price(double stock, double strike, double years,
                                             double volatility, double *slope) {
    const double spread = volatility * sqrt(years);
    const double d1 = log(stock / strike) / spread + 0.5 * spread;
    *slope = stock * 0.3989422804014327 * exp(-0.5 * d1 * d1) * sqrt(years);
    return stock * 0.5 * erfc(-d1 * 0.7071067811865475) -
           strike * 0.5 * erfc((spread - d1) * 0.7071067811865475);
}

__global__ void implied_volatility(int n, const double *stock, const double *strike,
                                   const double *years, const double *price, double *volatility) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double guess = 0.5;
    for (int step = 0; step < 20; step++) {
        double slope;
        const double error = call_price(stock[i], strike[i], years[i], guess, &slope) - price[i];
        if (fabs(error) < 1e-8) break;
        guess -= error / slope;
    }
    volatility[i] = guess;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1 << 25);
    const std::vector<float> numbers = fixed_values((size_t)4 * n, 1);
    std::vector<double> stock(n), strike(n), years(n), price(n), volatility(n);
    for (int i = 0; i < n; i++) {
        double slope;
        stock[i] = 20.0 + 80.0 * numbers[4 * (size_t)i];
        strike[i] = stock[i] * (0.9 + 0.2 * numbers[4 * (size_t)i + 1]);
        years[i] = 0.25 + 2.0 * numbers[4 * (size_t)i + 2];
        volatility[i] = 0.15 + 0.4 * numbers[4 * (size_t)i + 3];
        price[i] = call_price(stock[i], strike[i], years[i], volatility[i], &slope);
    }
    double *device_stock = to_device(stock), *device_strike = to_device(strike);
    double *device_years = to_device(years), *device_price = to_device(price);
    double *device_volatility = to_device(std::vector<double>(n));

    const int threads = 128;
    const int blocks = (n + threads - 1) / threads;
    implied_volatility<<<blocks, threads>>>(n, device_stock, device_strike, device_years,
                                            device_price, device_volatility);
    finish_launches();

    return verdict(sampled_error(from_device(device_volatility, n),
                                 [&](size_t i) { return volatility[i]; }));
}

// Prices of n options under Heston's stochastic volatility, FP64: for each the integral of the
// characteristic function over 24 frequencies, with complex exponentials, logarithms and roots.
//
//     nvcc -O2 -o heston_quadrature heston_quadrature.cu && ./heston_quadrature 10000

#include "../host.h"

#define NODES 24

struct Model {
    double kappa, theta, sigma, rho, start, rate;
};

struct Complex {
    double re, im;
};

__host__ __device__ inline Complex plus(Complex a, Complex b) {
    return {a.re + b.re, a.im + b.im};
}
__host__ __device__ inline Complex minus(Complex a, Complex b) {
    return {a.re - b.re, a.im - b.im};
}
__host__ __device__ inline Complex times(Complex a, Complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
__host__ __device__ inline Complex over(Complex a, Complex b) {
    const double square = b.re * b.re + b.im * b.im;
    return {(a.re * b.re + a.im * b.im) / square, (a.im * b.re - a.re * b.im) / square};
}
__host__ __device__ inline Complex root(Complex a) {
    const double size = sqrt(a.re * a.re + a.im * a.im);
    const double im = sqrt(fmax(0.5 * (size - a.re), 0.0));
    return {sqrt(fmax(0.5 * (size + a.re), 0.0)), a.im < 0.0 ? -im : im};
}
__host__ __device__ inline Complex exponential(Complex a) {
    const double size = exp(a.re);
    return {size * cos(a.im), size * sin(a.im)};
}
__host__ __device__ inline Complex logarithm(Complex a) {
    return {0.5 * log(a.re * a.re + a.im * a.im), atan2(a.im, a.re)};
}

// The price of a call by the formula of Lewis: one integral along Im u = -1/2.
__host__ __device__ inline double call_price(const Model &m, double spot, double strike,
                                             double years) {
    const double moneyness = log(spot / strike) + m.rate * years, width = 50.0 / NODES;
    const double variance = m.sigma * m.sigma;
    double sum = 0.0;
    for (int k = 0; k < NODES; k++) {
        const double u = (k + 0.5) * width;
        const Complex b = {m.kappa - 0.5 * m.rho * m.sigma, -m.rho * m.sigma * u};
        const Complex square = times(b, b);
        const Complex d = root({square.re + variance * (u * u + 0.25), square.im});
        const Complex g = over(minus(b, d), plus(b, d));
        const Complex decay = exponential({-d.re * years, -d.im * years});
        const Complex rest = minus({1.0, 0.0}, times(g, decay));
        const Complex ratio = logarithm(over(rest, minus({1.0, 0.0}, g)));
        const Complex drift = minus(b, d);
        const double scale = m.kappa * m.theta / variance;
        const Complex factor = times(drift, over(minus({1.0, 0.0}, decay), rest));
        const double first = scale * (drift.re * years - 2.0 * ratio.re);
        const double second = scale * (drift.im * years - 2.0 * ratio.im);
        const Complex f = exponential({first + m.start / variance * factor.re,
                                       second + m.start / variance * factor.im + u * moneyness});
        sum += f.re / (u * u + 0.25);
    }
    return spot - sqrt(spot * strike * exp(-m.rate * years)) * sum * width / 3.14159265358979;
}

__global__ void heston(int n, Model model, const double *__restrict__ spots,
                       const double *__restrict__ strikes, const double *__restrict__ years,
                       double *__restrict__ prices) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) prices[i] = call_price(model, spots[i], strikes[i], years[i]);
}

static std::vector<double> between(double low, double high, size_t count, uint32_t seed) {
    const std::vector<float> random = quick_values(count, seed);
    std::vector<double> values(count);
    for (size_t i = 0; i < count; i++) values[i] = low + (high - low) * random[i];
    return values;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1 << 25);
    const Model model = {1.5, 0.04, 0.3, -0.6, 0.05, 0.02};
    const std::vector<double> spots = between(80.0, 120.0, n, 1);
    const std::vector<double> strikes = between(70.0, 130.0, n, 2);
    const std::vector<double> years = between(0.3, 4.0, n, 3);
    const double *d_spots = to_device(spots), *d_strikes = to_device(strikes);
    const double *d_years = to_device(years);
    double *d_prices = device_zeros<double>(n);

    const int threads = 128, blocks = (n + threads - 1) / threads;
    heston<<<blocks, threads>>>(n, model, d_spots, d_strikes, d_years, d_prices);
    finish_launches();

    return verdict(sampled_error(from_device(d_prices, n), [&](size_t i) {
        return call_price(model, spots[i], strikes[i], years[i]);
    }));
}

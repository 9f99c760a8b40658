// Finance: n calls that end worthless when the share falls to a barrier below the strike, by the
// formula of Reiner and Rubinstein, in doubles.
//
//     nvcc -O2 -o barrier_calls barrier_calls.cu && ./barrier_calls 60000

#include "summed.h"

struct Terms {
    double rate, dividend, years;
};

__host__ __device__ static double cdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752); }

__host__ __device__ static double down_and_out(double s, double k, double h, double sigma,
                                               Terms t) {
    const double root = sigma * sqrt(t.years);
    const double lambda = (t.rate - t.dividend) / (sigma * sigma) + 0.5;
    const double d1 = log(s / k) / root + lambda * root;
    const double y = log(h * h / (s * k)) / root + lambda * root;
    const double grown = s * exp(-t.dividend * t.years), paid = k * exp(-t.rate * t.years);
    const double vanilla = grown * cdf(d1) - paid * cdf(d1 - root);
    const double ratio = pow(h / s, 2.0 * lambda - 2.0);
    const double in = grown * ratio * (h / s) * (h / s) * cdf(y) - paid * ratio * cdf(y - root);
    return s <= h ? 0.0 : vanilla - in;
}

__global__ void price_barriers(const double *spot, const double *strike, const double *barrier,
                               const double *vol, double *price, Terms terms, int n) {
    const int tid = blockDim.x * blockIdx.x + threadIdx.x;
    if (tid >= n) return;
    price[tid] = down_and_out(spot[tid], strike[tid], barrier[tid], vol[tid], terms);
}

static std::vector<double> between(double low, double high, int n, uint32_t seed) {
    std::vector<double> values(n);
    for (int i = 0; i < n; i++)
        values[i] = low + (high - low) * (mixed(seed + (uint32_t)i) * (1.0 / 4294967296.0));
    return values;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 40000000);
    const Terms terms = {0.03, 0.01, 0.75};
    const std::vector<double> spot = between(85.0, 130.0, n, 11);
    const std::vector<double> strike = between(95.0, 115.0, n, 12);
    const std::vector<double> barrier = between(70.0, 90.0, n, 13);
    const std::vector<double> vol = between(0.1, 0.5, n, 14);
    double *d_spot = to_device(spot), *d_strike = to_device(strike);
    double *d_barrier = to_device(barrier), *d_vol = to_device(vol);
    double *d_price = device_zeros<double>(n);

    price_barriers<<<(n + 127) / 128, 128>>>(d_spot, d_strike, d_barrier, d_vol, d_price, terms, n);
    finish_launches();

    const std::vector<double> price = from_device(d_price, n);
    say_sum("prices", price);
    return verdict(sampled_error(price, [&](size_t e) {
        return down_and_out(spot[e], strike[e], barrier[e], vol[e], terms);
    }));
}

// Finance: what a call and a put are worth after Black and Scholes, for n options in doubles.
//
//     nvcc -O2 -o call_and_put call_and_put.cu && ./call_and_put 500000

#include "checksum.h"

template <typename Real>
__host__ __device__ inline Real cumulative(Real d) {
    return Real(0.5) * erfc(-d * Real(0.70710678118654752));
}

template <typename Real>
__global__ void blackScholes(Real *__restrict__ call, Real *__restrict__ put,
                             const Real *__restrict__ spot, const Real *__restrict__ strike,
                             const Real *__restrict__ years, Real rate, Real sigma, int optN) {
    const int opt = blockDim.x * blockIdx.x + threadIdx.x;
    if (opt >= optN) return;
    const Real S = spot[opt], X = strike[opt], T = years[opt];
    const Real root = sqrt(T);
    const Real d1 = (log(S / X) + (rate + Real(0.5) * sigma * sigma) * T) / (sigma * root);
    const Real d2 = d1 - sigma * root;
    const Real discount = exp(-rate * T);
    const Real c = S * cumulative(d1) - X * discount * cumulative(d2);
    call[opt] = c;
    put[opt] = c + X * discount - S;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 100000000);
    const std::vector<float> a = quick_values(n, 2211), b = quick_values(n, 2212);
    const std::vector<float> c = quick_values(n, 2213);
    std::vector<double> spot(n), strike(n), years(n);
    for (int i = 0; i < n; i++) {
        spot[i] = 5.0 + 25.0 * a[i];
        strike[i] = 1.0 + 99.0 * b[i];
        years[i] = 0.25 + 9.75 * c[i];
    }
    const double *d_spot = to_device(spot), *d_strike = to_device(strike);
    const double *d_years = to_device(years);
    double *d_call = device_zeros<double>(n), *d_put = device_zeros<double>(n);

    blackScholes<double><<<(n + 127) / 128, 128>>>(d_call, d_put, d_spot, d_strike, d_years, 0.02,
                                                   0.3, n);
    finish_launches();

    const std::vector<double> call = from_device(d_call, n), put = from_device(d_put, n);
    print_checksum("call", call);
    print_checksum("put", put);
    return verdict(sampled_error(put, [&](size_t e) {
        const double root = sqrt(years[e]);
        const double d1 = (log(spot[e] / strike[e]) + 0.065 * years[e]) / (0.3 * root);
        const double discount = exp(-0.02 * years[e]);
        return spot[e] * cumulative(d1) - strike[e] * discount * cumulative(d1 - 0.3 * root) +
               strike[e] * discount - spot[e];
    }));
}

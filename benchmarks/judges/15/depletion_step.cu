// Burn-up of nuclear fuel: 64 nuclides in each of n cells, which lie in groups of 32. The heat that
// each nuclide makes says which flux gives a cell its power; then comes one explicit step of decay,
// of captures that make the next nuclide, and of fission, whose products are among the first half.
//
//     nvcc -O2 -o depletion_step depletion_step.cu && ./depletion_step 100000

#include "../host.h"

#define NUCLIDES 64
#define GROUP 32

struct Rates {
    double decay[NUCLIDES], capture[NUCLIDES], fission[NUCLIDES], product[NUCLIDES];
    double heat[NUCLIDES];
};

__constant__ Rates rates;

// Where a cell's first nuclide is; the others follow GROUP numbers apart.
__host__ __device__ inline int first_nuclide(int cell) {
    return cell / GROUP * GROUP * NUCLIDES + cell % GROUP;
}

__global__ void __launch_bounds__(256, 4)
depletion_step(int n, double step, const double *power, const double *before, double *heat,
               double *after) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int at = first_nuclide(i);
    double all = 0.0, fissions = 0.0;
#pragma unroll
    for (int k = 0; k < NUCLIDES; k++) {
        heat[at + k * GROUP] = rates.heat[k] * before[at + k * GROUP];
        all += heat[at + k * GROUP];
        fissions += rates.fission[k] * before[at + k * GROUP];
    }
    const double flux = power[i] / all;
#pragma unroll
    for (int k = 0; k < NUCLIDES; k++) {
        double change = rates.product[k] * fissions * flux;
        change -= (rates.decay[k] + (rates.capture[k] + rates.fission[k]) * flux) *
                  before[at + k * GROUP];
        if (k > 0) change += rates.capture[k - 1] * flux * before[at + (k - 1) * GROUP];
        if (k + 3 < NUCLIDES) change += rates.decay[k + 3] * before[at + (k + 3) * GROUP];
        after[at + k * GROUP] = before[at + k * GROUP] + step * change;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 10000000);
    const size_t count = (size_t)blocks_for(n, GROUP) * GROUP * NUCLIDES;
    const std::vector<float> numbers = quick_values(5 * NUCLIDES, 1);
    const std::vector<float> values = quick_values(count, 2), powers = quick_values(n, 3);
    const std::vector<double> before(values.begin(), values.end());
    const std::vector<double> power(powers.begin(), powers.end());
    Rates host;
    for (int k = 0; k < NUCLIDES; k++) {
        host.decay[k] = k < 3 ? 0.0 : numbers[k];
        host.capture[k] = numbers[NUCLIDES + k];
        host.fission[k] = k < NUCLIDES / 2 ? 0.0 : numbers[2 * NUCLIDES + k];
        host.product[k] = k < NUCLIDES / 2 ? numbers[3 * NUCLIDES + k] / 8 : 0.0;
        host.heat[k] = 0.05 * numbers[4 * NUCLIDES + k];
    }
    CHECK(cudaMemcpyToSymbol(rates, &host, sizeof(host)));
    const double step = 0.05;
    double *device_power = to_device(power), *device_before = to_device(before);
    double *heat = device_zeros<double>(count), *after = device_zeros<double>(count);

    const int threads = 256;
    depletion_step<<<blocks_for(n, threads), threads>>>(n, step, device_power, device_before,
                                                        heat, after);
    finish_launches();

    return verdict(sampled_error(from_device(after, count), [&](size_t e) {
        const size_t k = e / GROUP % NUCLIDES;
        const size_t i = e / GROUP / NUCLIDES * GROUP + e % GROUP;
        if (i >= (size_t)n) return 0.0;
        const double *cell = &before[first_nuclide(i)];
        double all = 0.0, fissions = 0.0;
        for (size_t f = 0; f < NUCLIDES; f++) {
            all += host.heat[f] * cell[f * GROUP];
            fissions += host.fission[f] * cell[f * GROUP];
        }
        const double flux = power[i] / all;
        double change = host.product[k] * fissions * flux - host.decay[k] * before[e] -
                        (host.capture[k] + host.fission[k]) * flux * before[e];
        if (k > 0) change += host.capture[k - 1] * flux * before[e - GROUP];
        if (k + 3 < NUCLIDES) change += host.decay[k + 3] * before[e + 3 * GROUP];
        return before[e] + step * change;
    }));
}

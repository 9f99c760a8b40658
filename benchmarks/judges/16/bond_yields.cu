// Finance: the yields of n bonds from their prices, FP64, by Newton's method. A bond has 2 to 60
// half-yearly coupons, and the steps end when the yield no longer changes.
//
//     nvcc -O2 -o bond_yields bond_yields.cu && ./bond_yields 20000

#include "../host.h"

struct Bond {
    double price;
    float coupon, waited;
    int periods;
};

// The half-yearly yield.
__host__ __device__ inline double yield_of(const Bond &bond) {
    double yield = 0.025;
    for (int step = 0; step < 30; step++) {
        const double factor = 1.0 / (1.0 + yield);
        // The value at the last coupon date and its slope by the factor, from the last coupon on.
        double value = 100.0 + bond.coupon, slope = 0.0;
        for (int k = 1; k < bond.periods; k++) {
            slope = slope * factor + value;
            value = value * factor + bond.coupon;
        }
        slope = slope * factor + value;
        value *= factor;
        // Part of the first coupon has been earned already.
        const double missed = value * (1.0 + bond.waited * yield) - bond.price;
        const double change =
            missed / (slope * factor * factor * (1.0 + bond.waited * yield) - value * bond.waited);
        yield += change;
        if (fabs(change) < 1e-12) break;
    }
    return yield;
}

__global__ void bond_yields(const Bond *__restrict__ bonds, double *__restrict__ yields, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Bond bond = bonds[i];
    yields[i] = yield_of(bond);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 200, 200000000);
    std::vector<Bond> bonds(n);
    for (int i = 0; i < n; i++) {
        const uint32_t bits = mixed(1608u + (uint32_t)i);
        bonds[i].periods = 2 + (int)(bits % 59);
        bonds[i].coupon = 0.125f * (float)(bits >> 8 & 31);
        bonds[i].waited = (float)(bits >> 13 & 127) / 128.0f;
        bonds[i].price = 80.0 + (double)(bits >> 20) / 128.0;
    }
    const Bond *d_bonds = to_device(bonds);
    double *d_yields = device_zeros<double>(n);

    const int threads = 256;
    bond_yields<<<(n + threads - 1) / threads, threads>>>(d_bonds, d_yields, n);
    finish_launches();

    const std::vector<double> yields = from_device(d_yields, n);
    return verdict(sampled_error(yields, [&](size_t i) { return yield_of(bonds[i]); }));
}

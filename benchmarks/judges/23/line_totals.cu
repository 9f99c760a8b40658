// Databases: totals of n order lines in doubles, from quantity, price, and codes of discount and
// tax that two tables in constant memory explain.
//
//     nvcc -O2 -o line_totals line_totals.cu && ./line_totals 100000

#include "checked.h"

static const double host_discounts[12] = {0,    0.01, 0.02, 0.03, 0.05, 0.07,
                                          0.10, 0.12, 0.15, 0.20, 0.30, 0.50};
static const double host_taxes[5] = {0, 0.05, 0.07, 0.16, 0.19};

__constant__ double discounts[12];
__constant__ double taxes[5];

__global__ void total_lines(const int *quantity, const float *price, const uint8_t *discount,
                            const uint8_t *tax, double *total, unsigned lines) {
    const unsigned line = blockIdx.x * blockDim.x + threadIdx.x;
    if (line < lines) {
        const double net = quantity[line] * (double)price[line] * (1.0 - discounts[discount[line]]);
        total[line] = net * (1.0 + taxes[tax[line]]);
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 110000000);
    std::vector<int> quantity(n);
    std::vector<float> price = quick_values(n, 3081);
    std::vector<uint8_t> discount(n), tax(n);
    for (int i = 0; i < n; i++) {
        const uint32_t bits = mixed(3082u + i);
        quantity[i] = 1 + bits % 50;
        discount[i] = (bits >> 8) % 12;
        tax[i] = (bits >> 20) % 5;
        price[i] = 1.0f + 900.0f * price[i];
    }
    CHECK(cudaMemcpyToSymbol(discounts, host_discounts, sizeof host_discounts));
    CHECK(cudaMemcpyToSymbol(taxes, host_taxes, sizeof host_taxes));
    int *d_quantity = to_device(quantity);
    float *d_price = to_device(price);
    uint8_t *d_discount = to_device(discount), *d_tax = to_device(tax);
    double *d_total = device_zeros<double>(n);

    total_lines<<<(n + 1023) / 1024, 1024>>>(d_quantity, d_price, d_discount, d_tax, d_total, n);
    finish_launches();

    const std::vector<double> total = from_device(d_total, n);
    say_sum("totals", total);
    return verdict(sampled_error(total, [&](size_t i) {
        return quantity[i] * (double)price[i] * (1.0 - host_discounts[discount[i]]) *
               (1.0 + host_taxes[tax[i]]);
    }));
}

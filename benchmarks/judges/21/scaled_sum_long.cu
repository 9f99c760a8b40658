// Vectors: z = a x + b y of n doubles, with ids of 64 bits.
//
//     nvcc -O2 -o scaled_sum_long scaled_sum_long.cu && ./scaled_sum_long 1000000

#include "checksum.h"

__global__ void waxpby(int64_t n, double a, const double *x, double b, const double *y, double *z) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = a * x[i] + b * y[i];
}

int main(int argc, char **argv) {
    const int64_t n = size_argument(argc, argv, 3000, 200000000);
    const std::vector<float> some = quick_values(n, 2171), more = quick_values(n, 2172);
    const std::vector<double> x(some.begin(), some.end()), y(more.begin(), more.end());
    const double *d_x = to_device(x), *d_y = to_device(y);
    double *d_z = device_zeros<double>(n);

    const int block = 256;
    waxpby<<<(unsigned)((n + block - 1) / block), block>>>(n, 1.75, d_x, -0.5, d_y, d_z);
    finish_launches();

    const std::vector<double> z = from_device(d_z, n);
    print_checksum("z", z);
    return verdict(sampled_error(z, [&](size_t e) { return 1.75 * x[e] - 0.5 * y[e]; }));
}

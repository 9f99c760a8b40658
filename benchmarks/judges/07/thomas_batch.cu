// n tridiagonal systems of 48 unknowns in double precision, a system per thread, by elimination
// and substitution. Neighbouring systems are interleaved, so that equation k of all comes first.
//
//     nvcc -O2 -o thomas_batch thomas_batch.cu && ./thomas_batch 10000

#include "../host.h"

#define UNKNOWNS 48

__global__ void thomas_batch(int systems, const double *__restrict__ lower,
                             const double *__restrict__ diagonal,
                             const double *__restrict__ upper, const double *__restrict__ right,
                             double *__restrict__ ratio, double *__restrict__ x) {
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= systems) return;

    double c = upper[s] / diagonal[s];
    double d = right[s] / diagonal[s];
    ratio[s] = c;
    x[s] = d;
    for (int k = 1; k < UNKNOWNS; k++) {
        int at = k * systems + s;
        double inverse = 1.0 / (diagonal[at] - lower[at] * c);
        c = upper[at] * inverse;
        d = (right[at] - lower[at] * d) * inverse;
        ratio[at] = c;
        x[at] = d;
    }
    for (int k = UNKNOWNS - 2; k >= 0; k--) {
        int at = k * systems + s;
        d = x[at] - ratio[at] * d;
        x[at] = d;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 300, 10000000);
    const size_t count = (size_t)UNKNOWNS * n;
    std::vector<double> lower(count), diagonal(count), upper(count), right(count);
    for (size_t e = 0; e < count; e++) {
        const uint32_t bits = mixed((uint32_t)e + 1u);
        lower[e] = -1.0 + 0x1p-11 * (bits & 1023);
        upper[e] = -1.0 + 0x1p-11 * (bits >> 10 & 1023);
        diagonal[e] = 2.1 + 0x1p-11 * (bits >> 20);
        right[e] = 0x1p-31 * mixed(bits) - 1.0;
    }
    const double *d_lower = to_device(lower), *d_diagonal = to_device(diagonal);
    const double *d_upper = to_device(upper), *d_right = to_device(right);
    double *d_ratio = device_zeros<double>(count), *d_x = device_zeros<double>(count);

    const int block_size = 128;
    const int num_blocks = (n + block_size - 1) / block_size;
    thomas_batch<<<num_blocks, block_size>>>(n, d_lower, d_diagonal, d_upper, d_right, d_ratio,
                                             d_x);
    finish_launches();

    // Do the solutions fulfil the equations?
    const std::vector<double> x = from_device(d_x, count);
    std::vector<double> product;
    const size_t step = count / 1000 + 1;
    for (size_t e = 0; e < count; e += step) {
        double sum = diagonal[e] * x[e];
        if (e >= (size_t)n) sum += lower[e] * x[e - n];
        if (e + n < count) sum += upper[e] * x[e + n];
        product.push_back(sum);
    }
    return verdict(sampled_error(product, [&](size_t i) { return right[i * step]; }));
}

// Data frames: n values of one column where a mask of bytes says so, else of another.
//
//     nvcc -O2 -o where_mask where_mask.cu && ./where_mask 1000000

#include "checksum.h"

__global__ void where_kernel(const bool *mask, const double *yes, const double *no, double *out,
                             long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) out[i] = mask[i] ? yes[i] : no[i];
}

int main(int argc, char **argv) {
    const long long n = size_argument(argc, argv, 3000, 200000000);
    std::vector<uint8_t> mask = quick_bits<uint8_t>(n, 2231);
    for (uint8_t &bit : mask) bit = bit % 3 == 0;
    const std::vector<float> some = quick_values(n, 2232), more = quick_values(n, 2233);
    const std::vector<double> yes(some.begin(), some.end()), no(more.begin(), more.end());
    const uint8_t *d_mask = to_device(mask);
    const double *d_yes = to_device(yes), *d_no = to_device(no);
    double *d_out = device_zeros<double>(n);

    where_kernel<<<(unsigned)((n + 511) / 512), 512>>>((const bool *)d_mask, d_yes, d_no, d_out, n);
    finish_launches();

    const std::vector<double> out = from_device(d_out, n);
    print_checksum("out", out);
    return verdict(sampled_error(out, [&](size_t e) { return mask[e] ? yes[e] : no[e]; }));
}

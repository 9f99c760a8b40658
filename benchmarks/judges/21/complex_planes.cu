// Signal processing: products of n complex numbers whose parts are in arrays of their own.
//
//     nvcc -O2 -o complex_planes complex_planes.cu && ./complex_planes 1000000

#include "checksum.h"

__global__ void cmul(const float *ar, const float *ai, const float *br, const float *bi, float *cr,
                     float *ci, unsigned n) {
    const unsigned k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= n) return;
    cr[k] = ar[k] * br[k] - ai[k] * bi[k];
    ci[k] = ar[k] * bi[k] + ai[k] * br[k];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 3000, 200000000);
    const std::vector<float> ar = quick_values(n, 2221), ai = quick_values(n, 2222);
    const std::vector<float> br = quick_values(n, 2223), bi = quick_values(n, 2224);
    const float *d_ar = to_device(ar), *d_ai = to_device(ai);
    const float *d_br = to_device(br), *d_bi = to_device(bi);
    float *d_cr = device_zeros<float>(n), *d_ci = device_zeros<float>(n);

    cmul<<<(n + 191) / 192, 192>>>(d_ar, d_ai, d_br, d_bi, d_cr, d_ci, n);
    finish_launches();

    const std::vector<float> cr = from_device(d_cr, n), ci = from_device(d_ci, n);
    print_checksum("real parts", cr);
    print_checksum("imaginary parts", ci);
    const double error = sampled_error(
        cr, [&](size_t e) { return (double)ar[e] * br[e] - (double)ai[e] * bi[e]; });
    return verdict(fmax(error, sampled_error(ci, [&](size_t e) {
                            return (double)ar[e] * bi[e] + (double)ai[e] * br[e];
                        })));
}

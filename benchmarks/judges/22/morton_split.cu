// Trees of points: Morton codes of 63 bits of n points, and how many leading bits each code has in
// common with the next. (Here the points are in the order of their codes only by accident.)
//
//     nvcc -O2 -o morton_split morton_split.cu && ./morton_split 300000

#include "summed.h"

using u64 = unsigned long long;

__host__ __device__ inline u64 spread(u64 v) {
    v &= 0x1fffff;
    v = (v | v << 32) & 0x1f00000000ffffULL;
    v = (v | v << 16) & 0x1f0000ff0000ffULL;
    v = (v | v << 8) & 0x100f00f00f00f00fULL;
    v = (v | v << 4) & 0x10c30c30c30c30c3ULL;
    return (v | v << 2) & 0x1249249249249249ULL;
}

__host__ __device__ inline u64 code(float x, float y, float z) {
    const float scale = 2097151.0f;
    return spread((u64)(x * scale)) | spread((u64)(y * scale)) << 1 | spread((u64)(z * scale)) << 2;
}

__global__ void make_codes(const float *xs, const float *ys, const float *zs, u64 *codes,
                           unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) codes[i] = code(xs[i], ys[i], zs[i]);
}

__global__ void common_bits(const u64 *codes, int *common, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 < n) common[i] = __clzll((long long)(codes[i] ^ codes[i + 1]));
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 2000, 100000000);
    const std::vector<float> x = quick_values(n, 2241), y = quick_values(n, 2242),
                             z = quick_values(n, 2243);
    const float *d_x = to_device(x), *d_y = to_device(y), *d_z = to_device(z);
    u64 *d_codes = device_zeros<u64>(n);
    int *d_common = device_zeros<int>(n);

    const int block = 256, grid = (n + block - 1) / block;
    make_codes<<<grid, block>>>(d_x, d_y, d_z, d_codes, n);
    common_bits<<<grid, block>>>(d_codes, d_common, n);
    finish_launches();

    const std::vector<u64> codes = from_device(d_codes, n);
    const std::vector<int> common = from_device(d_common, n);
    say_sum("codes", codes);
    say_sum("common bits", common);
    return verdict(sampled_error(codes, [&](size_t e) { return code(x[e], y[e], z[e]); }) +
                   sampled_error(common, [&](size_t e) {
                       if (e + 1 >= (size_t)n) return 0;
                       int bits = 0;
                       for (u64 both = codes[e] ^ codes[e + 1]; bits < 64 && !(both >> 63); bits++)
                           both <<= 1;
                       return bits;
                   }));
}

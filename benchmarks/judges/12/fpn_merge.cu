// A step of a feature pyramid network in half precision, channels last: 128 channels of
// (n / 2) x (n / 2) places are doubled in size by bilinear interpolation and added to those of
// n x n places. Two channels per thread; x counts the places of a row and their channels.
//
//     nvcc -O2 -o fpn_merge fpn_merge.cu && ./fpn_merge 400

#include <cuda_fp16.h>

#include "../host.h"

#define CHANNELS 128
#define PAIRS (CHANNELS / 2)

__host__ __device__ inline int nearest(int at, int n) { return at < 0 ? 0 : at < n ? at : n - 1; }

__global__ void fpn_merge(const __half2 *__restrict__ coarse, const __half2 *__restrict__ fine,
                          __half2 *__restrict__ out, int size) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int half = size / 2;
    if (i < size * PAIRS && y < size) {
        const int x = i / PAIRS, pair = i % PAIRS;
        const int x1 = min(x / 2, half - 1), x0 = nearest(x / 2 + (x % 2 ? 1 : -1), half);
        const int y1 = min(y / 2, half - 1), y0 = nearest(y / 2 + (y % 2 ? 1 : -1), half);
        const float2 a = __half22float2(coarse[((size_t)y0 * half + x0) * PAIRS + pair]);
        const float2 b = __half22float2(coarse[((size_t)y0 * half + x1) * PAIRS + pair]);
        const float2 c = __half22float2(coarse[((size_t)y1 * half + x0) * PAIRS + pair]);
        const float2 d = __half22float2(coarse[((size_t)y1 * half + x1) * PAIRS + pair]);
        const size_t at = (size_t)y * size * PAIRS + i;
        const float2 own = __half22float2(fine[at]);
        out[at] = __floats2half2_rn(
            own.x + 0.0625f * a.x + 0.1875f * (b.x + c.x) + 0.5625f * d.x,
            own.y + 0.0625f * a.y + 0.1875f * (b.y + c.y) + 0.5625f * d.y);
    }
}

// Halves between 0.5 and 1 or between -1 and -0.5.
static std::vector<__half> quick_halves(size_t count, uint32_t seed) {
    std::vector<__half> halves = quick_bits<__half>(count, seed);
    for (__half &one : halves) {
        __half_raw bits = one;
        bits.x = (unsigned short)((bits.x & 0x83ff) | 0x3800);
        one = bits;
    }
    return halves;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 16, 4000), half = n / 2;
    if (n < 2) return 2;
    const size_t count = (size_t)n * n * CHANNELS;
    const std::vector<__half> coarse = quick_halves((size_t)half * half * CHANNELS, 1);
    const std::vector<__half> fine = quick_halves(count, 2);
    const __half *d_coarse = to_device(coarse), *d_fine = to_device(fine);
    __half *d_out = device_zeros<__half>(count);

    dim3 block(64, 4);
    dim3 grid((n * PAIRS + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    fpn_merge<<<grid, block>>>((const __half2 *)d_coarse, (const __half2 *)d_fine,
                               (__half2 *)d_out, n);
    finish_launches();

    const std::vector<__half> out = from_device(d_out, count);
    const size_t step = count / 1000 + 1;
    std::vector<float> found, wanted;
    for (size_t e = 0; e < count; e += step) {
        const int channel = (int)(e % CHANNELS), x = (int)(e / CHANNELS % n);
        const int y = (int)(e / CHANNELS / n);
        const int xs[2] = {nearest(x / 2 + (x % 2 ? 1 : -1), half), nearest(x / 2, half)};
        const int ys[2] = {nearest(y / 2 + (y % 2 ? 1 : -1), half), nearest(y / 2, half)};
        float sum = __half2float(fine[e]);
        for (int k = 0; k < 4; k++)
            sum += (k / 2 ? 0.75f : 0.25f) * (k % 2 ? 0.75f : 0.25f) *
                   __half2float(coarse[((size_t)ys[k / 2] * half + xs[k % 2]) * CHANNELS +
                                       channel]);
        found.push_back(__half2float(out[e]));
        wanted.push_back(__half2float(__float2half(sum)));
    }
    return verdict(sampled_error(found, [&](size_t i) { return wanted[i]; }));
}

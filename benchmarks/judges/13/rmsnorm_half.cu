// A layer of a language model in half precision: the input is added to the residual stream, in
// place, and each of n rows of 2048 numbers is divided by the root of its mean square and scaled. A
// block has a row, and sums up in dynamic shared memory.
//
//     nvcc -O2 -o rmsnorm_half rmsnorm_half.cu && ./rmsnorm_half 1000

#include <cuda_fp16.h>

#include "../host.h"

#define COLUMNS 2048

#pragma cutune kernel add_rmsnorm data(rows, pairs) block(x: 32, 64, 128, 256, 512, 1024) \
    grid(keep) shared(4 * x)
__global__ void add_rmsnorm(const __half2 *__restrict__ in, __half2 *__restrict__ residual,
                            const __half2 *__restrict__ weights, __half2 *__restrict__ out,
                            int rows, int pairs, float epsilon) {
    extern __shared__ float sums[];
    const int t = threadIdx.x;
    if (blockIdx.x >= rows) return;
    const size_t begin = (size_t)blockIdx.x * pairs;
    float sum = 0.0f;
    for (int c = t; c < pairs; c += blockDim.x) {
        const float2 a = __half22float2(in[begin + c]), b = __half22float2(residual[begin + c]);
        const __half2 both = __floats2half2_rn(a.x + b.x, a.y + b.y);
        residual[begin + c] = both;
        const float2 value = __half22float2(both);
        sum += value.x * value.x + value.y * value.y;
    }
    sums[t] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half) sums[t] += sums[t + half];
        __syncthreads();
    }
    const float factor = rsqrtf(sums[0] / (float)(2 * pairs) + epsilon);
    for (int c = t; c < pairs; c += blockDim.x) {
        const float2 value = __half22float2(residual[begin + c]);
        const float2 weight = __half22float2(weights[c]);
        out[begin + c] =
            __floats2half2_rn(value.x * factor * weight.x, value.y * factor * weight.y);
    }
}

// Halves between 0.5 and 1 or between -1 and -0.5.
static std::vector<__half> quick_halves(size_t count, uint32_t seed) {
    std::vector<__half> halves(count);
    std::vector<uint16_t> bits = quick_bits<uint16_t>(count, seed);
    for (uint16_t &one : bits) one = (uint16_t)((one & 0x83ff) | 0x3800);
    memcpy((void *)halves.data(), bits.data(), count * sizeof(__half));
    return halves;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 8, 400000);
    const size_t count = (size_t)n * COLUMNS;
    const std::vector<__half> in = quick_halves(count, 1), residual = quick_halves(count, 2);
    const std::vector<__half> weights = quick_halves(COLUMNS, 3);
    const __half *d_in = to_device(in), *d_weights = to_device(weights);
    __half *d_residual = to_device(residual), *d_out = device_zeros<__half>(count);
    const float epsilon = 1e-5f;

    const int threads = 256;
    add_rmsnorm<<<n, threads, threads * sizeof(float)>>>(
        (const __half2 *)d_in, (__half2 *)d_residual, (const __half2 *)d_weights,
        (__half2 *)d_out, n, COLUMNS / 2, epsilon);
    finish_launches();

    auto sum = [&](size_t e) {
        return __half2float(__float2half(__half2float(in[e]) + __half2float(residual[e])));
    };
    const std::vector<__half> out = from_device(d_out, count);
    const std::vector<__half> stream = from_device(d_residual, count);
    const size_t step = count / 1000 + 1;
    std::vector<float> found, added;
    for (size_t e = 0; e < count; e += step) {
        found.push_back(__half2float(out[e]));
        added.push_back(__half2float(stream[e]));
    }
    const double error = sampled_error(added, [&](size_t sample) { return sum(sample * step); });
    return verdict(fmax(error, sampled_error(found, [&](size_t sample) {
                            const size_t e = sample * step, begin = e / COLUMNS * COLUMNS;
                            double squares = 0.0;
                            for (int c = 0; c < COLUMNS; c++)
                                squares += (double)sum(begin + c) * sum(begin + c);
                            const double weight = __half2float(weights[e % COLUMNS]);
                            const double wanted =
                                sum(e) * weight / sqrt(squares / COLUMNS + epsilon);
                            // Half an ulp of a half is what rounding may cost.
                            const double slack = 0.00049 * fabs(wanted) + 1e-5;
                            return fabs(found[sample] - wanted) < slack ? found[sample] : wanted;
                        })));
}

// RMS normalisation of n tokens of 8192 channels, a block of 1024 threads per token, vectors of
// four that stay in registers between the sum and the scaling.
//
//     nvcc -O2 -o rmsnorm_vectors rmsnorm_vectors.cu && ./rmsnorm_vectors 4096

#include "checksum.h"

#define CHANNELS 8192
#define THREADS 1024
#define EACH (CHANNELS / 4 / THREADS)
#define EPSILON 1e-6f

__global__ void __launch_bounds__(THREADS)
    rmsnorm(const float4 *__restrict__ in, const float4 *__restrict__ gain,
            float4 *__restrict__ out) {
    __shared__ float slots[THREADS / 32];
    __shared__ float scale;
    const size_t first = (size_t)blockIdx.x * (CHANNELS / 4);
    float4 values[EACH];
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        const float4 v = values[k] = in[first + k * THREADS + threadIdx.x];
        sum += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    }
#pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1)
        sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = slots[threadIdx.x];
#pragma unroll
        for (int offset = 16; offset > 0; offset >>= 1)
            sum += __shfl_xor_sync(0xffffffffu, sum, offset);
        if (threadIdx.x == 0) scale = rsqrtf(sum / CHANNELS + EPSILON);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        const float4 v = values[k], g = gain[k * THREADS + threadIdx.x];
        out[first + k * THREADS + threadIdx.x] =
            make_float4(v.x * scale * g.x, v.y * scale * g.y, v.z * scale * g.z, v.w * scale * g.w);
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 2, 200000);
    const size_t count = (size_t)n * CHANNELS;
    const std::vector<float> in = quick_values(count, 1806);
    const std::vector<float> gain = quick_values(CHANNELS, 1807);
    const float *d_in = to_device(in), *d_gain = to_device(gain);
    float *d_out = device_zeros<float>(count);

    rmsnorm<<<n, THREADS>>>((const float4 *)d_in, (const float4 *)d_gain, (float4 *)d_out);
    finish_launches();

    const std::vector<float> out = from_device(d_out, count);
    return report(checksum_of(out), sampled_error(out, [&](size_t e) {
        const float *row = in.data() + e / CHANNELS * CHANNELS;
        double sum = 0.0;
        for (int c = 0; c < CHANNELS; c++) sum += (double)row[c] * row[c];
        return row[e % CHANNELS] / sqrt(sum / CHANNELS + EPSILON) * gain[e % CHANNELS];
    }));
}

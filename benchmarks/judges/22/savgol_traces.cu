// Spectroscopy: 256 traces of n samples, smoothed by a filter of Savitzky and Golay whose eleven
// weights are constants; samples beyond the ends repeat the last one.
//
//     nvcc -O2 -o savgol_traces savgol_traces.cu && ./savgol_traces 5000

#include "summed.h"

#define HALF_WIDTH 5
#define TRACES 256

static const float host_weights[2 * HALF_WIDTH + 1] = {
    -36 / 429.f, 9 / 429.f,  44 / 429.f, 69 / 429.f, 84 / 429.f, 89 / 429.f,
    84 / 429.f,  69 / 429.f, 44 / 429.f, 9 / 429.f,  -36 / 429.f};
__constant__ float weights[2 * HALF_WIDTH + 1];

__global__ void smooth(const float *in, float *out, int samples) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int trace = blockIdx.y;
    if (i >= samples) return;
    const float *from = in + (size_t)trace * samples;
    float sum = 0.0f;
#pragma unroll
    for (int k = -HALF_WIDTH; k <= HALF_WIDTH; k++) {
        int at = i + k;
        at = at < 0 ? 0 : at;
        at = at > samples - 1 ? samples - 1 : at;
        sum += weights[k + HALF_WIDTH] * from[at];
    }
    out[(size_t)trace * samples + i] = sum;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 40, 1000000);
    const size_t count = (size_t)n * TRACES;
    const std::vector<float> traces = quick_values(count, 2331);
    const float *d_in = to_device(traces);
    float *d_out = device_zeros<float>(count);
    CHECK(cudaMemcpyToSymbol(weights, host_weights, sizeof host_weights));

    const int threads = 128;
    smooth<<<dim3((n + threads - 1) / threads, TRACES), threads>>>(d_in, d_out, n);
    finish_launches();

    const std::vector<float> smoothed = from_device(d_out, count);
    say_sum("smoothed", smoothed);
    return verdict(sampled_error(smoothed, [&](size_t e) {
        const int i = (int)(e % n);
        double sum = 0.0;
        for (int k = -HALF_WIDTH; k <= HALF_WIDTH; k++) {
            const int at = i + k < 0 ? 0 : i + k > n - 1 ? n - 1 : i + k;
            sum += host_weights[k + HALF_WIDTH] * traces[e - i + at];
        }
        return sum;
    }));
}

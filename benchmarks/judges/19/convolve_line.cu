// A filter of 33 taps over n samples, from shared memory with a halo, taps in constant memory.
//
//     nvcc -O2 -o convolve_line convolve_line.cu && ./convolve_line 1000000

#include "../host.h"

#define THREADS 128
#define RADIUS 16

__constant__ float taps[2 * RADIUS + 1];

__global__ void filtered(const float *in, float *out, int n) {
    __shared__ float line[THREADS + 2 * RADIUS];
    const int t = threadIdx.x, i = blockIdx.x * THREADS + t;
    line[t + RADIUS] = i < n ? in[i] : 0.0f;
    if (t < RADIUS) {
        line[t] = i >= RADIUS ? in[i - RADIUS] : 0.0f;
        line[t + RADIUS + THREADS] = i + THREADS < n ? in[i + THREADS] : 0.0f;
    }
    __syncthreads();
    if (i < n) {
        float sum = 0.0f;
        for (int k = 0; k <= 2 * RADIUS; k++) sum += taps[k] * line[t + k];
        out[i] = sum;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 5000, 100000000);
    const std::vector<float> in = quick_values(n, 1913), k = quick_values(2 * RADIUS + 1, 1914);
    CHECK(cudaMemcpyToSymbol(taps, k.data(), k.size() * sizeof(float)));
    const float *d_in = to_device(in);
    float *d_out = device_zeros<float>(n);

    filtered<<<(n + THREADS - 1) / THREADS, THREADS>>>(d_in, d_out, n);
    finish_launches();

    return verdict(sampled_error(from_device(d_out, n), [&](size_t e) {
        double sum = 0.0;
        for (long at = (long)e - RADIUS, tap = 0; tap <= 2 * RADIUS; at++, tap++)
            if (at >= 0 && at < n) sum += (double)k[tap] * in[at];
        return sum;
    }));
}

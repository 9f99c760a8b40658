// A filter of 127 taps, which lie in constant memory, along a signal of n samples.
//
//     nvcc -O2 -o fir_taps fir_taps.cu && ./fir_taps 1000000

#include "../judge.h"

#define TAPS 127

__constant__ float taps[TAPS];

__global__ void fir_taps(int n, const float *signal, float *filtered) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int tap = 0; tap < TAPS; tap++)
        if (i - tap >= 0) sum += taps[tap] * signal[i - tap];
    filtered[i] = sum;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 3000, 1 << 28);
    const std::vector<float> signal = fixed_values(n, 1), weights = fixed_values(TAPS, 2);
    CHECK(cudaMemcpyToSymbol(taps, weights.data(), TAPS * sizeof(float)));
    const float *device_signal = to_device(signal);
    float *device_filtered = to_device(std::vector<float>(n));

    const int threads = 256;
    const int blocks = (n + threads - 1) / threads;
    fir_taps<<<blocks, threads>>>(n, device_signal, device_filtered);
    finish_launches();

    return verdict(sampled_error(from_device(device_filtered, n), [&](size_t i) {
        double sum = 0.0;
        for (size_t tap = 0; tap < TAPS && tap <= i; tap++) sum += weights[tap] * signal[i - tap];
        return sum;
    }));
}

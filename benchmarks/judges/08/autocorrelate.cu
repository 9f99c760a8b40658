// The autocorrelation of a signal of n samples at n / 2 lags, a thread per lag: the longer the lag,
// the fewer products are left.
//
//     nvcc -O2 -o autocorrelate autocorrelate.cu && ./autocorrelate 10000

#include "../host.h"

__global__ void autocorrelate(const float *__restrict__ signal, float *__restrict__ correlation,
                              int samples, int lags) {
    const int lag = blockIdx.x * blockDim.x + threadIdx.x;
    if (lag >= lags) return;
    float sum = 0.0f;
    for (int t = 0; t + lag < samples; t++) sum += signal[t] * signal[t + lag];
    correlation[lag] = sum / (samples - lag);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1 << 20);
    const int lags = (n + 1) / 2;
    std::vector<float> signal = quick_values(n, 1);
    // A tone in noise.
    for (int t = 0; t < n; t++) signal[t] += sinf(0.05f * (float)(t % 1257)) - 0.5f;
    const float *d_signal = to_device(signal);
    float *d_correlation = device_zeros<float>(lags);

    const int threads = 128;
    autocorrelate<<<(lags + threads - 1) / threads, threads>>>(d_signal, d_correlation, n, lags);
    finish_launches();

    return verdict(sampled_error(from_device(d_correlation, lags), [&](size_t lag) {
        double sum = 0.0;
        for (size_t t = 0; t + lag < (size_t)n; t++) sum += signal[t] * signal[t + lag];
        return sum / (n - (double)lag);
    }));
}

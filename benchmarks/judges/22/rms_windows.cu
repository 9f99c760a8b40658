// Vibration: root mean square and peak of n windows of 256 samples, a new one each 64 samples; a
// warp per window.
//
//     nvcc -O2 -o rms_windows rms_windows.cu && ./rms_windows 40000

#include "summed.h"

#define WINDOW 256
#define HOP 64
#define FULL_MASK 0xffffffff

__global__ void rms_and_peak(const float *__restrict__ signal, float *__restrict__ rms,
                             float *__restrict__ peak, int windows) {
    const int lane = threadIdx.x % 32;
    const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (warp >= windows) return;

    const float *begin = signal + (size_t)warp * HOP;
    float sum = 0.0f, highest = 0.0f;
    for (int i = lane; i < WINDOW; i += 32) {
        const float v = begin[i];
        sum += v * v;
        highest = fmaxf(highest, fabsf(v));
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(FULL_MASK, sum, offset);
        highest = fmaxf(highest, __shfl_down_sync(FULL_MASK, highest, offset));
    }
    if (lane == 0) {
        rms[warp] = sqrtf(sum / WINDOW);
        peak[warp] = highest;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 50, 6000000);
    std::vector<float> signal = quick_values((size_t)n * HOP + WINDOW - HOP, 2271);
    for (float &v : signal) v = 2.0f * v - 1.0f;
    const float *d_signal = to_device(signal);
    float *d_rms = device_zeros<float>(n), *d_peak = device_zeros<float>(n);

    const int warps_per_block = 4;
    rms_and_peak<<<(n + warps_per_block - 1) / warps_per_block, 32 * warps_per_block>>>(
        d_signal, d_rms, d_peak, n);
    finish_launches();

    const std::vector<float> rms = from_device(d_rms, n), peak = from_device(d_peak, n);
    say_sum("rms", rms);
    say_sum("peaks", peak);
    return verdict(fmax(sampled_error(rms,
                                      [&](size_t e) {
                                          double sum = 0.0;
                                          for (int i = 0; i < WINDOW; i++) {
                                              const double v = signal[e * HOP + i];
                                              sum += v * v;
                                          }
                                          return sqrt(sum / WINDOW);
                                      }),
                        sampled_error(peak, [&](size_t e) {
                            float highest = 0.0f;
                            for (int i = 0; i < WINDOW; i++)
                                highest = fmaxf(highest, fabsf(signal[e * HOP + i]));
                            return highest;
                        })));
}

// Chromatography: n peaks of 32 samples each, one behind the other. A thread walks along its peak,
// for the area over a straight baseline and its centre, and once more for its width.
//
//     nvcc -O2 -o peak_area peak_area.cu && ./peak_area 100000

#include "../host.h"

#define SAMPLES 32

__global__ void peak_area(int n, const float *traces, float *area, float *centre, float *width) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float *trace = traces + (long long)i * SAMPLES;
    const float start = trace[0], tilt = (trace[SAMPLES - 1] - start) / (SAMPLES - 1);
    float sum = 0.0f, moment = 0.0f, spread = 0.0f;
#pragma unroll
    for (int t = 0; t < SAMPLES; t++) {
        const float over = fmaxf(trace[t] - start - tilt * t, 0.0f);
        sum += over;
        moment += over * t;
    }
    const float middle = moment / fmaxf(sum, 1e-6f);
#pragma unroll
    for (int t = 0; t < SAMPLES; t++) {
        const float over = fmaxf(trace[t] - start - tilt * t, 0.0f);
        spread += over * (t - middle) * (t - middle);
    }
    area[i] = sum;
    centre[i] = middle;
    width[i] = sqrtf(spread / fmaxf(sum, 1e-6f));
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 300, 60000000);
    std::vector<float> traces = quick_values((size_t)n * SAMPLES, 1);
    for (size_t i = 0; i < (size_t)n; i++) traces[i * SAMPLES] *= 0.1f;
    float *device_traces = to_device(traces), *area = device_zeros<float>(n);
    float *centre = device_zeros<float>(n), *width = device_zeros<float>(n);

    const int threads = 128;
    peak_area<<<blocks_for(n, threads), threads>>>(n, device_traces, area, centre, width);
    finish_launches();

    auto over = [&](size_t i, int t) {
        const float *trace = &traces[i * SAMPLES];
        const double tilt = ((double)trace[SAMPLES - 1] - trace[0]) / (SAMPLES - 1);
        return fmax(trace[t] - trace[0] - tilt * t, 0.0);
    };
    auto centre_of = [&](size_t i) {
        double sum = 0.0, moment = 0.0;
        for (int t = 0; t < SAMPLES; t++) sum += over(i, t), moment += over(i, t) * t;
        return moment / fmax(sum, 1e-6);
    };
    const double error_centre = sampled_error(from_device(centre, n), centre_of);
    const double error_width = sampled_error(from_device(width, n), [&](size_t i) {
        const double middle = centre_of(i);
        double sum = 0.0, spread = 0.0;
        for (int t = 0; t < SAMPLES; t++)
            sum += over(i, t), spread += over(i, t) * (t - middle) * (t - middle);
        return sqrt(spread / fmax(sum, 1e-6));
    });
    return verdict(fmax(error_centre, error_width));
}

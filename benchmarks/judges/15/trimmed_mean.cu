// A robust mean of 32 sensors at each of n times: a thread sorts its readings by Batcher's bitonic
// network and leaves out the eight smallest and the eight largest.
//
//     nvcc -O2 -o trimmed_mean trimmed_mean.cu && ./trimmed_mean 100000

#include "../host.h"

#include <algorithm>

#define SENSORS 32
#define TRIMMED 8

__global__ void trimmed_mean(int n, const float *readings, float *means) {
    const int time = blockIdx.x * blockDim.x + threadIdx.x;
    if (time >= n) return;
    float sorted[SENSORS];
#pragma unroll
    for (int s = 0; s < SENSORS; s++) sorted[s] = readings[s * n + time];
#pragma unroll
    for (int run = 2; run <= SENSORS; run *= 2)
#pragma unroll
        for (int apart = run / 2; apart > 0; apart /= 2)
#pragma unroll
            for (int s = 0; s < SENSORS; s++) {
                if (s & apart) continue;
                const float low = fminf(sorted[s], sorted[s + apart]);
                const float high = fmaxf(sorted[s], sorted[s + apart]);
                sorted[s] = s & run ? high : low;
                sorted[s + apart] = s & run ? low : high;
            }
    float sum = 0.0f;
#pragma unroll
    for (int s = TRIMMED; s < SENSORS - TRIMMED; s++) sum += sorted[s];
    means[time] = sum / (SENSORS - 2 * TRIMMED);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 60000000);
    const std::vector<float> readings = quick_values((size_t)n * SENSORS, 1);
    float *device_readings = to_device(readings), *means = device_zeros<float>(n);

    const int threads = 128;
    trimmed_mean<<<blocks_for(n, threads), threads>>>(n, device_readings, means);
    finish_launches();

    return verdict(sampled_error(from_device(means, n), [&](size_t time) {
        std::vector<double> values(SENSORS);
        for (size_t s = 0; s < SENSORS; s++) values[s] = readings[s * n + time];
        std::sort(values.begin(), values.end());
        double sum = 0.0;
        for (int s = TRIMMED; s < SENSORS - TRIMMED; s++) sum += values[s];
        return sum / (SENSORS - 2 * TRIMMED);
    }));
}

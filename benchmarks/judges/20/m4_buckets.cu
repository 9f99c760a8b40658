// Plots: each of n columns of pixels stands for 1200 samples of a series. Their smallest and
// largest one, and how many are above a limit. A block per column, shuffles and a slot per warp.
//
//     nvcc -O2 -o m4_buckets m4_buckets.cu && ./m4_buckets 3000

#include "../host.h"

#define SAMPLES 1200

__global__ void shrink(const float *series, float *lows, float *highs, int *above, float limit) {
    __shared__ float low_slots[32], high_slots[32];
    __shared__ int above_slots[32];
    const float *bucket = series + (size_t)blockIdx.x * SAMPLES;
    float low = INFINITY, high = -INFINITY;
    int many = 0;
    for (int i = threadIdx.x; i < SAMPLES; i += blockDim.x) {
        const float sample = bucket[i];
        low = fminf(low, sample);
        high = fmaxf(high, sample);
        many += sample > limit;
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        low = fminf(low, __shfl_down_sync(0xffffffffu, low, offset));
        high = fmaxf(high, __shfl_down_sync(0xffffffffu, high, offset));
        many += __shfl_down_sync(0xffffffffu, many, offset);
    }
    if (threadIdx.x % 32 == 0) {
        low_slots[threadIdx.x / 32] = low;
        high_slots[threadIdx.x / 32] = high;
        above_slots[threadIdx.x / 32] = many;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int warp = 1; warp < blockDim.x / 32; warp++) {
            low = fminf(low, low_slots[warp]);
            high = fmaxf(high, high_slots[warp]);
            many += above_slots[warp];
        }
        lows[blockIdx.x] = low;
        highs[blockIdx.x] = high;
        above[blockIdx.x] = many;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 8, 800000);
    const std::vector<float> series = quick_values((size_t)n * SAMPLES, 2161);
    const float limit = 0.97f;
    const float *d_series = to_device(series);
    float *d_lows = device_zeros<float>(n), *d_highs = device_zeros<float>(n);
    int *d_above = device_zeros<int>(n);

    int threads = 128;
    shrink<<<n, threads>>>(d_series, d_lows, d_highs, d_above, limit);
    finish_launches();

    const std::vector<float> lows = from_device(d_lows, n), highs = from_device(d_highs, n);
    const std::vector<int> above = from_device(d_above, n);
    int wrong = 0;
    for (int i = 0; i < n; i += n / 1000 + 1) {
        float low = INFINITY, high = -INFINITY;
        int many = 0;
        for (int j = 0; j < SAMPLES; j++) {
            const float sample = series[(size_t)i * SAMPLES + j];
            low = fminf(low, sample);
            high = fmaxf(high, sample);
            many += sample > limit;
        }
        wrong += lows[i] != low || highs[i] != high || above[i] != many;
    }
    return verdict(wrong);
}

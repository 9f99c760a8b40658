// Sums of n segments of 0 to 2047 floats that lie one behind the other, a block per segment.
//
//     nvcc -O2 -o segment_totals segment_totals.cu && ./segment_totals 50000

#include "checksum.h"

#define BLOCK_SIZE 128

__global__ void segmented_sum(const float *__restrict__ values,
                              const long long *__restrict__ offsets, float *__restrict__ totals) {
    __shared__ float shared[BLOCK_SIZE];
    const int tid = threadIdx.x;
    const long long end = offsets[blockIdx.x + 1];
    float sum = 0.0f;
    for (long long i = offsets[blockIdx.x] + tid; i < end; i += BLOCK_SIZE) sum += values[i];
    shared[tid] = sum;
    __syncthreads();
    for (int stride = BLOCK_SIZE / 2; stride > 0; stride >>= 1) {
        if (tid < stride) shared[tid] += shared[tid + stride];
        __syncthreads();
    }
    if (tid == 0) totals[blockIdx.x] = shared[0];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 20, 2000000);
    std::vector<long long> offsets(n + 1);
    for (int s = 0; s < n; s++) offsets[s + 1] = offsets[s] + mixed(1814 + s) % 2048;
    const std::vector<float> values = quick_values((size_t)offsets[n] + 1, 1815);
    const float *d_values = to_device(values);
    const long long *d_offsets = to_device(offsets);
    float *d_totals = device_zeros<float>(n);

    segmented_sum<<<n, BLOCK_SIZE>>>(d_values, d_offsets, d_totals);
    finish_launches();

    const std::vector<float> totals = from_device(d_totals, n);
    return report(checksum_of(totals), sampled_error(totals, [&](size_t s) {
        double sum = 0.0;
        for (long long i = offsets[s]; i < offsets[s + 1]; i++) sum += values[i];
        return sum;
    }));
}

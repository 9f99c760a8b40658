// The sum of n floats: parts of 1024 by blocks of 256 threads, by a tree that is written out.
//
//     nvcc -O2 -o partial_sums partial_sums.cu && ./partial_sums 10000000

#include "../host.h"

#define THREADS 256
#define PART (4 * THREADS)

__global__ void summed(const float *in, float *sums, int n) {
    __shared__ float part[THREADS];
    const int t = threadIdx.x, first = blockIdx.x * PART + t;
    float sum = 0.0f;
    for (int j = 0; j < 4; j++)
        if (first + j * THREADS < n) sum += in[first + j * THREADS];
    part[t] = sum;
    __syncthreads();
    if (t < 128) part[t] += part[t + 128];
    __syncthreads();
    if (t < 64) part[t] += part[t + 64];
    __syncthreads();
    if (t < 32) {
        sum = part[t] + part[t + 32];
        for (int reach = 16; reach > 0; reach /= 2) sum += __shfl_down_sync(~0u, sum, reach);
        if (t == 0) sums[blockIdx.x] = sum;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 20000, 400000000);
    const int parts = (n + PART - 1) / PART;
    const std::vector<float> in = quick_values(n, 1925);
    const float *d_in = to_device(in);
    float *d_sums = device_zeros<float>(parts);

    summed<<<(n + PART - 1) / PART, THREADS>>>(d_in, d_sums, n);
    finish_launches();

    return verdict(sampled_error(from_device(d_sums, parts), [&](size_t e) {
        double sum = 0.0;
        for (size_t i = e * PART; i < (e + 1) * PART && i < (size_t)n; i++) sum += in[i];
        return sum;
    }));
}

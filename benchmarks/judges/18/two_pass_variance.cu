// Mean and variance of n samples in two passes over them, an atomic addition per block.
//
//     nvcc -O2 -o two_pass_variance two_pass_variance.cu && ./two_pass_variance 50000000

#include <algorithm>

#include "checksum.h"

__inline__ __device__ float warpReduceSum(float val) {
    for (int offset = warpSize / 2; offset > 0; offset /= 2)
        val += __shfl_down_sync(0xffffffff, val, offset);
    return val;
}

__inline__ __device__ float blockReduceSum(float val) {
    static __shared__ float shared[32];
    int lane = threadIdx.x % warpSize;
    int wid = threadIdx.x / warpSize;
    val = warpReduceSum(val);
    if (lane == 0) shared[wid] = val;
    __syncthreads();
    val = (threadIdx.x < blockDim.x / warpSize) ? shared[lane] : 0;
    if (wid == 0) val = warpReduceSum(val);
    return val;
}

__global__ void add_up(const float *samples, double *sum, int n) {
    float own = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        own += samples[i];
    own = blockReduceSum(own);
    if (threadIdx.x == 0) atomicAdd(sum, (double)own);
}

__global__ void add_up_deviations(const float *samples, const double *sum, double *squares, int n) {
    const float mean = (float)(*sum / n);
    float own = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        float d = samples[i] - mean;
        own += d * d;
    }
    own = blockReduceSum(own);
    if (threadIdx.x == 0) atomicAdd(squares, (double)own);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 10000, 1500000000);
    std::vector<float> samples = quick_values(n, 1817);
    for (float &sample : samples) sample = sample * sample * 5.0f + 1.0f;
    const float *d_samples = to_device(samples);
    double *d_sum = device_zeros<double>(1), *d_squares = device_zeros<double>(1);

    const int threads = 1024, blocks = std::min((n + threads - 1) / threads, 528);
    add_up<<<blocks, threads>>>(d_samples, d_sum, n);
    add_up_deviations<<<blocks, threads>>>(d_samples, d_sum, d_squares, n);
    finish_launches();

    const double mean = from_device(d_sum, 1)[0] / n;
    const double variance = from_device(d_squares, 1)[0] / n;
    double wanted_mean = 0.0, wanted = 0.0;
    for (float sample : samples) wanted_mean += sample;
    wanted_mean /= n;
    for (float sample : samples) wanted += (sample - wanted_mean) * (sample - wanted_mean);
    return report(mean + 10.0 * variance, fmax(relative_difference(mean, wanted_mean),
                                               relative_difference(variance, wanted / n)));
}

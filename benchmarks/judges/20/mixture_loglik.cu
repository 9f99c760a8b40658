// Statistics: how likely each of n series of 1500 numbers is under a mixture of two normal
// distributions of its own. A block per series, a tree in shared memory that is as large as the
// block.
//
//     nvcc -O2 -o mixture_loglik mixture_loglik.cu && ./mixture_loglik 500

#include "../host.h"

#define LENGTH 1500

__host__ __device__ inline float log_density(float x, float share, float mean, float width) {
    const float narrow = x / 0.3f, wide = (x - mean) / width;
    return logf(share / 0.3f * expf(-0.5f * narrow * narrow) +
                (1.0f - share) / width * expf(-0.5f * wide * wide));
}

__global__ void likelihoods(const float *series, const float *shares, const float *means,
                            const float *widths, float *results) {
    extern __shared__ float sums[];
    const float *own = series + (size_t)blockIdx.x * LENGTH;
    const float share = shares[blockIdx.x], mean = means[blockIdx.x], width = widths[blockIdx.x];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < LENGTH; i += blockDim.x)
        sum += log_density(own[i], share, mean, width);
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half >>= 1) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) results[blockIdx.x] = sums[0];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 4, 500000);
    const std::vector<float> series = quick_values((size_t)n * LENGTH, 2131);
    std::vector<float> shares = quick_values(n, 2132), means = quick_values(n, 2133);
    std::vector<float> widths = quick_values(n, 2134);
    for (int i = 0; i < n; i++) {
        shares[i] = 0.2f + 0.6f * shares[i];
        widths[i] = 0.2f + widths[i];
    }
    const float *d_series = to_device(series), *d_shares = to_device(shares);
    const float *d_means = to_device(means), *d_widths = to_device(widths);
    float *d_results = device_zeros<float>(n);

    const int threads = 512;
    likelihoods<<<n, threads, threads * sizeof(float)>>>(d_series, d_shares, d_means, d_widths,
                                                         d_results);
    finish_launches();

    const std::vector<float> results = from_device(d_results, n);
    double difference = 0.0, magnitude = 0.0;
    for (int i = 0; i < n; i += n / 40 + 1) {
        double sum = 0.0;
        for (int t = 0; t < LENGTH; t++)
            sum += log_density(series[(size_t)i * LENGTH + t], shares[i], means[i], widths[i]);
        difference = fmax(difference, fabs(results[i] - sum));
        magnitude = fmax(magnitude, fabs(sum));
    }
    return verdict(difference / magnitude);
}

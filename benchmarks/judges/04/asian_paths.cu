// Monte Carlo for an Asian option: n random paths of 64 steps, each the mean price along it. Random
// numbers come from a hash of the path and the step; nothing is loaded.
//
//     nvcc -O2 -o asian_paths asian_paths.cu && ./asian_paths 100000

#include "../judge.h"

#define STEPS 64

__host__ __device__ inline unsigned hash(unsigned value) {
    const unsigned state = value * 747796405u + 2891336453u;
    const unsigned word = ((state >> ((state >> 28) + 4)) ^ state) * 277803737u;
    return word >> 22 ^ word;
}

// In (0, 1].
__host__ __device__ inline float uniform(unsigned random) {
    return ((random >> 8) + 1) / 16777216.0f;
}

__host__ __device__ inline float mean_price(int path, float drift, float volatility) {
    unsigned random = hash(path);
    float logarithm = 0.0f, sum = 0.0f;
    for (int step = 0; step < STEPS; step++) {
        random = hash(random + step);
        const float radius = sqrtf(-2.0f * logf(uniform(random)));
        random = hash(random);
        const float normal = radius * cosf(6.2831853f * uniform(random));
        logarithm += drift + volatility * normal;
        sum += expf(logarithm);
    }
    return sum / STEPS;
}

__global__ void asian_paths(int n, float drift, float volatility, float *means) {
    const int path = blockIdx.x * blockDim.x + threadIdx.x;
    if (path < n) means[path] = mean_price(path, drift, volatility);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1 << 28);
    const float drift = 0.0005f, volatility = 0.025f;
    float *device_means = to_device(std::vector<float>(n));

    const int threads = 512;
    asian_paths<<<(n + threads - 1) / threads, threads>>>(n, drift, volatility, device_means);
    finish_launches();

    return verdict(sampled_error(from_device(device_means, n), [&](size_t path) {
        return mean_price((int)path, drift, volatility);
    }));
}

// Smoluchowski's equation for an aerosol of n sizes: how fast the number of particles of each size
// changes, by smaller ones that meet and by meetings with all others. Small sizes have short sums.
//
//     nvcc -O2 -o coagulation coagulation.cu && ./coagulation 10000

#include "../host.h"

// The rate of meetings in the continuum regime, by the radii of both.
__host__ __device__ inline float meeting(float a, float b) {
    return (a + b) * (a + b) / (a * b);
}

__global__ void coagulation(int n, const float *radius, const float *number, float *change) {
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= n) return;
    float gain = 0.0f, loss = 0.0f;
    for (int j = 0; j < k; j++)
        gain += meeting(radius[j], radius[k - 1 - j]) * number[j] * number[k - 1 - j];
    for (int j = 0; j < n - k - 1; j++) loss += meeting(radius[k], radius[j]) * number[j];
    change[k] = 0.5f * gain - loss * number[k];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 500, 1 << 20);
    std::vector<float> number = quick_values(n, 1), radius(n);
    for (int i = 0; i < n; i++) radius[i] = cbrtf(i + 1.0f);
    float *device_number = to_device(number), *device_radius = to_device(radius);
    float *change = device_zeros<float>(n);

    const int threads = 256;
    coagulation<<<blocks_for(n, threads), threads>>>(n, device_radius, device_number, change);
    finish_launches();

    return verdict(sampled_error(from_device(change, n), [&](size_t k) {
        double gain = 0.0, loss = 0.0;
        for (size_t j = 0; j < k; j++)
            gain += meeting(radius[j], radius[k - 1 - j]) * number[j] * number[k - 1 - j];
        for (size_t j = 0; j + k + 1 < (size_t)n; j++)
            loss += meeting(radius[k], radius[j]) * number[j];
        return 0.5 * gain - loss * number[k];
    }));
}

// Meteorology: the equivalent potential temperature after Bolton of n parcels, from temperature,
// pressure and mixing ratio.
//
//     nvcc -O2 -o theta_e theta_e.cu && ./theta_e 100000

#include "checked.h"

__global__ void equivalent_temperature(const float *kelvin, const float *hectopascals,
                                       const float *mixing, float *theta, int parcels) {
    const int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < parcels) {
        const float t = kelvin[i];
        const float p = hectopascals[i];
        const float r = mixing[i];
        const float e = p * r / (0.622f + r);
        const float condensing = 2840.0f / (3.5f * logf(t) - logf(e) - 4.805f) + 55.0f;
        const float dry = t * powf(1000.0f / p, 0.2854f * (1.0f - 0.28f * r));
        theta[i] = dry * expf((3.376f / condensing - 0.00254f) * 1000.0f * r * (1.0f + 0.81f * r));
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 500, 120000000);
    std::vector<float> t = quick_values(n, 3041), p = quick_values(n, 3042),
                       r = quick_values(n, 3043);
    for (int i = 0; i < n; i++) {
        t[i] = 260.0f + 40.0f * t[i];
        p[i] = 500.0f + 520.0f * p[i];
        r[i] = 0.001f + 0.015f * r[i];
    }
    const float *d_t = to_device(t), *d_p = to_device(p), *d_r = to_device(r);
    float *d_theta = device_zeros<float>(n);

    const int threads = 128;
    const int blocks = (n + threads - 1) / threads;
    equivalent_temperature<<<blocks, threads>>>(d_t, d_p, d_r, d_theta, n);
    finish_launches();

    const std::vector<float> theta = from_device(d_theta, n);
    say_sum("temperatures", theta);
    return verdict(sampled_error(theta, [&](size_t i) {
        const double k = t[i], m = r[i], e = p[i] * m / (0.622 + m);
        const double condensing = 2840.0 / (3.5 * log(k) - log(e) - 4.805) + 55.0;
        return k * pow(1000.0 / p[i], 0.2854 * (1.0 - 0.28 * m)) *
               exp((3.376 / condensing - 0.00254) * 1000.0 * m * (1.0 + 0.81 * m));
    }));
}

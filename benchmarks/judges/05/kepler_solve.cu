// Kepler's equation for n bodies in double precision: Newton's method until the step is small,
// which takes longer for orbits that are nearly parabolas. At most 4096 blocks go through the
// bodies in strides of the grid.
//
//     nvcc -O2 -o kepler_solve kepler_solve.cu && ./kepler_solve 100000

#include "../host.h"

__host__ __device__ inline double eccentric_anomaly(double mean, double e) {
    double E = e > 0.8 ? 3.14159265358979 : mean;
    for (int step = 0; step < 60; step++) {
        const double delta = (E - e * sin(E) - mean) / (1.0 - e * cos(E));
        E -= delta;
        if (fabs(delta) < 1e-12) break;
    }
    return E;
}

__global__ void kepler_solve(const double *mean, const double *eccentricity, double *anomaly,
                             int n) {
    int stride = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        anomaly[i] = eccentric_anomaly(mean[i], eccentricity[i]);
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 500, 1 << 28);
    const std::vector<float> angle = quick_values(n, 1), shape = quick_values(n, 2);
    std::vector<double> mean(n), eccentricity(n);
    for (int i = 0; i < n; i++) {
        mean[i] = 6.283185307179586 * angle[i];
        eccentricity[i] = 0.995 * sqrt((double)shape[i]);
    }
    const double *d_mean = to_device(mean), *d_eccentricity = to_device(eccentricity);
    double *d_anomaly = device_zeros<double>(n);

    int threads = 256;
    int blocks = (n + threads - 1) / threads;
    if (blocks > 4096) blocks = 4096;
    kepler_solve<<<blocks, threads>>>(d_mean, d_eccentricity, d_anomaly, n);
    finish_launches();

    return verdict(sampled_error(from_device(d_anomaly, n), [&](size_t i) {
        return eccentric_anomaly(mean[i], eccentricity[i]);
    }));
}

// Particles: half a step of the velocity and a step of the place on both axes, of n, in doubles.
//
//     nvcc -O2 -o leapfrog_arrays leapfrog_arrays.cu && ./leapfrog_arrays 500000

#include "checksum.h"

__global__ void kick_drift(double *x, double *y, double *vx, double *vy, const double *ax,
                           const double *ay, double dt, int count) {
    const int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= count) return;
    vx[p] += 0.5 * dt * ax[p];
    vy[p] += 0.5 * dt * ay[p];
    x[p] += dt * vx[p];
    y[p] += dt * vy[p];
}

static std::vector<double> doubles(size_t count, uint32_t seed) {
    const std::vector<float> values = quick_values(count, seed);
    return std::vector<double>(values.begin(), values.end());
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 2000, 50000000);
    const std::vector<double> x = doubles(n, 2331), y = doubles(n, 2332), vx = doubles(n, 2333);
    const std::vector<double> vy = doubles(n, 2334), ax = doubles(n, 2335), ay = doubles(n, 2336);
    double *d_x = to_device(x), *d_y = to_device(y), *d_vx = to_device(vx), *d_vy = to_device(vy);
    const double *d_ax = to_device(ax), *d_ay = to_device(ay);

    kick_drift<<<(n + 127) / 128, 128>>>(d_x, d_y, d_vx, d_vy, d_ax, d_ay, 0.01, n);
    finish_launches();

    const std::vector<double> after = from_device(d_y, n);
    print_checksum("x", from_device(d_x, n));
    print_checksum("y", after);
    print_checksum("vx", from_device(d_vx, n));
    print_checksum("vy", from_device(d_vy, n));
    return verdict(
        sampled_error(after, [&](size_t e) { return y[e] + 0.01 * (vy[e] + 0.005 * ay[e]); }));
}

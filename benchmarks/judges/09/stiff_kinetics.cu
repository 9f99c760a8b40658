// Robertson's three chemical reactions in each of n cells, FP64: 16 linearly implicit steps of
// growing length, each with a 3 x 3 system. Structure of arrays.
//
//     nvcc -O2 -o stiff_kinetics stiff_kinetics.cu && ./stiff_kinetics 100000

#include "../host.h"

#define STEPS 16

__host__ __device__ inline void react(double *y, double temperature) {
    const double k1 = 0.04 * exp(1.0 - 1.0 / temperature);
    const double k2 = 1e4 * sqrt(temperature), k3 = 3e7 * temperature;
    double step = 1e-4;
    for (int s = 0; s < STEPS; s++) {
        const double r1 = k1 * y[0], r2 = k2 * y[1] * y[2], r3 = k3 * y[1] * y[1];
        // The matrix I - step J, a row at a time, and the right-hand side.
        const double a00 = 1.0 + step * k1, a01 = -step * k2 * y[2], a02 = -step * k2 * y[1];
        double a10 = -step * k1, a11 = 1.0 - a01 + 2.0 * step * k3 * y[1], a12 = -a02;
        double a21 = -2.0 * step * k3 * y[1], a22 = 1.0;
        double b0 = step * (r2 - r1), b1 = step * (r1 - r2 - r3), b2 = step * r3;
        const double f = a10 / a00;
        a11 -= f * a01;
        a12 -= f * a02;
        b1 -= f * b0;
        const double g = a21 / a11;
        a22 -= g * a12;
        b2 -= g * b1;
        const double d2 = b2 / a22;
        const double d1 = (b1 - a12 * d2) / a11;
        y[0] += (b0 - a01 * d1 - a02 * d2) / a00;
        y[1] += d1;
        y[2] += d2;
        step *= 1.8;
    }
}

__global__ void stiff_kinetics(int n, double *a, double *b, double *c,
                               const double *temperature) {
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell < n) {
        double y[3] = {a[cell], b[cell], c[cell]};
        react(y, temperature[cell]);
        a[cell] = y[0];
        b[cell] = y[1];
        c[cell] = y[2];
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1 << 26);
    const std::vector<float> mixing = quick_values(n, 1), heat = quick_values(n, 2);
    std::vector<double> a(n), b(n), c(n), temperature(n);
    for (int i = 0; i < n; i++) {
        a[i] = 0.5 + 0.5 * mixing[i];
        b[i] = 1e-5 * mixing[i];
        c[i] = 1.0 - a[i];
        temperature[i] = 0.8 + 0.4 * heat[i];
    }
    double *d_a = to_device(a), *d_b = to_device(b), *d_c = to_device(c);
    const double *d_temperature = to_device(temperature);

    const int threads = 128;
    stiff_kinetics<<<(n + threads - 1) / threads, threads>>>(n, d_a, d_b, d_c, d_temperature);
    finish_launches();

    const auto expected = [&](size_t i, int which) {
        double y[3] = {a[i], b[i], c[i]};
        react(y, temperature[i]);
        return y[which];
    };
    double error = sampled_error(from_device(d_a, n), [&](size_t i) { return expected(i, 0); });
    error += sampled_error(from_device(d_b, n), [&](size_t i) { return expected(i, 1); });
    error += sampled_error(from_device(d_c, n), [&](size_t i) { return expected(i, 2); });
    return verdict(error);
}

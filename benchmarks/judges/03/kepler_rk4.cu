// Orbits of n bodies around a sun in double precision: 100 steps of the classical Runge-Kutta
// method each. Coordinates lie in an array each.
//
//     nvcc -O2 -o kepler_rk4 kepler_rk4.cu && ./kepler_rk4 100000

#include "../judge.h"

struct Orbit {
    double x, y, u, v;
};

__host__ __device__ inline Orbit moved(Orbit at, double time, Orbit slope) {
    return {at.x + time * slope.x, at.y + time * slope.y, at.u + time * slope.u,
            at.v + time * slope.v};
}

__host__ __device__ inline Orbit slope(Orbit at) {
    const double square = at.x * at.x + at.y * at.y;
    const double pull = -1.0 / (square * sqrt(square));
    return {at.u, at.v, pull * at.x, pull * at.y};
}

__host__ __device__ inline Orbit integrated(Orbit at, int steps, double time) {
    for (int step = 0; step < steps; step++) {
        const Orbit k1 = slope(at), k2 = slope(moved(at, time / 2, k1));
        const Orbit k3 = slope(moved(at, time / 2, k2)), k4 = slope(moved(at, time, k3));
        at = moved(at, time / 6, k1);
        at = moved(at, time / 3, k2);
        at = moved(at, time / 3, k3);
        at = moved(at, time / 6, k4);
    }
    return at;
}

__global__ void kepler_rk4(int n, int steps, double time, double *x, double *y, double *u,
                           double *v) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Orbit at = integrated({x[i], y[i], u[i], v[i]}, steps, time);
    x[i] = at.x;
    y[i] = at.y;
    u[i] = at.u;
    v[i] = at.v;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1 << 26), steps = 100;
    const double time = 0.02;
    std::vector<double> x(n), y(n), u(n), v(n);
    const std::vector<float> numbers = fixed_values(2 * (size_t)n, 1);
    for (int i = 0; i < n; i++) {
        x[i] = 1.0 + numbers[2 * i];
        v[i] = (0.8 + 0.4 * numbers[2 * i + 1]) / sqrt(x[i]);
    }
    double *device_x = to_device(x), *device_y = to_device(y);
    double *device_u = to_device(u), *device_v = to_device(v);

    const unsigned block = 128;
    kepler_rk4<<<blocks_for(n, block), block>>>(n, steps, time, device_x, device_y, device_u,
                                                device_v);
    finish_launches();

    const std::vector<double> end_x = from_device(device_x, n), end_y = from_device(device_y, n);
    std::vector<double> actual(n);
    for (int i = 0; i < n; i++) actual[i] = end_x[i] + 2.0 * end_y[i];
    return verdict(sampled_error(actual, [&](size_t i) {
        const Orbit end = integrated({x[i], y[i], u[i], v[i]}, steps, time);
        return end.x + 2.0 * end.y;
    }));
}

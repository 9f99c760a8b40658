// The vector updates of a step of BiCGSTAB in double precision: solution and residual in one
// kernel, the direction in another. Streams.
//
//     nvcc -O2 -o bicgstab_update bicgstab_update.cu && ./bicgstab_update 1000000

#include "../host.h"

__global__ void update_solution(size_t n, double alpha, double omega, const double *p,
                                const double *s, const double *t, double *x, double *r) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) {
        x[i] += alpha * p[i] + omega * s[i];
        r[i] = s[i] - omega * t[i];
    }
}

__global__ void update_direction(size_t n, double beta, double omega, const double *r,
                                 const double *v, double *p) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) p[i] = r[i] + beta * (p[i] - omega * v[i]);
}

static std::vector<double> quick_doubles(size_t count, uint32_t seed) {
    std::vector<double> values(count);
    for (size_t i = 0; i < count; i++) values[i] = mixed(seed * 1000003u + (uint32_t)i) * 0x1p-32;
    return values;
}

int main(int argc, char **argv) {
    const size_t n = size_argument(argc, argv, 5000, 1 << 28);
    const double alpha = 0.7, beta = 0.4, omega = 1.3;
    const std::vector<double> p = quick_doubles(n, 1), s = quick_doubles(n, 2);
    const std::vector<double> t = quick_doubles(n, 3), v = quick_doubles(n, 4);
    double *d_p = to_device(p), *d_x = device_zeros<double>(n), *d_r = device_zeros<double>(n);
    const double *d_s = to_device(s), *d_t = to_device(t), *d_v = to_device(v);

    dim3 block(512);
    dim3 grid((n + block.x - 1) / block.x);
    update_solution<<<grid, block>>>(n, alpha, omega, d_p, d_s, d_t, d_x, d_r);
    update_direction<<<grid, block>>>(n, beta, omega, d_r, d_v, d_p);
    finish_launches();

    const auto residual = [&](size_t i) { return s[i] - omega * t[i]; };
    double error = sampled_error(from_device(d_r, n), residual);
    error += sampled_error(from_device(d_x, n),
                           [&](size_t i) { return alpha * p[i] + omega * s[i]; });
    return verdict(error + sampled_error(from_device(d_p, n), [&](size_t i) {
        return residual(i) + beta * (p[i] - omega * v[i]);
    }));
}

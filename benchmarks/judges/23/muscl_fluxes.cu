// Fluid dynamics: the upwind flux through each of n faces of a pipe, from slopes that van Leer's
// limiter allows, in doubles. Cells beyond the ends are like those at the ends.
//
//     nvcc -O2 -o muscl_fluxes muscl_fluxes.cu && ./muscl_fluxes 100000

#include "checked.h"

__host__ __device__ inline double limited(double a, double b) {
    return a * b > 0.0 ? 2.0 * a * b / (a + b) : 0.0;
}

// Face i lies between the cells i - 1 and i.
__global__ void face_fluxes(const double *__restrict__ density, const double *__restrict__ speed,
                            double *__restrict__ flux, int cells, double courant) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= cells) return;
    const double far_left = density[max(i - 2, 0)], left = density[max(i - 1, 0)];
    const double right = density[i], far_right = density[min(i + 1, cells - 1)];
    const double v = speed[i];
    const double c = courant * fabs(v);
    double carried;
    if (v >= 0.0)
        carried = left + 0.5 * (1.0 - c) * limited(left - far_left, right - left);
    else
        carried = right - 0.5 * (1.0 - c) * limited(right - left, far_right - right);
    flux[i] = v * carried;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 500, 80000000);
    std::vector<double> density(n), speed(n);
    for (int i = 0; i < n; i++) {
        density[i] = 1.0 + 0.5 * sin(i * 0.01) + mixed(3051u + i) * (0.2 / 4294967296.0);
        speed[i] = cos(i * 0.003) + mixed(77u * i) * (0.1 / 4294967296.0);
    }
    double *d_density = to_device(density), *d_speed = to_device(speed);
    double *d_flux = device_zeros<double>(n);

    face_fluxes<<<(n + 255) / 256, 256>>>(d_density, d_speed, d_flux, n, 0.4);
    finish_launches();

    const std::vector<double> flux = from_device(d_flux, n);
    say_sum("fluxes", flux);
    return verdict(sampled_error(flux, [&](size_t face) {
        const int64_t i = (int64_t)face;
        auto at = [&](int64_t k) { return density[k < 0 ? 0 : k >= n ? n - 1 : k]; };
        const double v = speed[i], rest = 0.5 * (1.0 - 0.4 * fabs(v));
        if (v < 0.0) return v * (at(i) - rest * limited(at(i) - at(i - 1), at(i + 1) - at(i)));
        return v * (at(i - 1) + rest * limited(at(i - 1) - at(i - 2), at(i) - at(i - 1)));
    }));
}

// Level-set advection on a grid of n x n x (n / 2 + 3) cells, FP64: in each direction the upwind
// one-sided derivative of fifth order by a weighted choice of three parabolas (WENO), and one step
// in time. Three ghost cells lie around the grid.
//
//     nvcc -O2 -o weno5_3d weno5_3d.cu && ./weno5_3d 100

#include "../host.h"

#define GHOSTS 3

// The derivative from five differences in upwind order.
__host__ __device__ inline double weno(double a, double b, double c, double d, double e) {
    const double thirteenth = 13.0 / 12.0;
    const double p = a - 2.0 * b + c, q = b - 2.0 * c + d, r = c - 2.0 * d + e;
    const double p1 = a - 4.0 * b + 3.0 * c, q1 = b - d, r1 = 3.0 * c - 4.0 * d + e;
    const double s0 = thirteenth * p * p + 0.25 * p1 * p1 + 1e-6;
    const double s1 = thirteenth * q * q + 0.25 * q1 * q1 + 1e-6;
    const double s2 = thirteenth * r * r + 0.25 * r1 * r1 + 1e-6;
    const double w0 = 0.1 / (s0 * s0), w1 = 0.6 / (s1 * s1), w2 = 0.3 / (s2 * s2);
    const double f0 = (2.0 * a - 7.0 * b + 11.0 * c) / 6.0;
    const double f1 = (-b + 5.0 * c + 2.0 * d) / 6.0;
    const double f2 = (2.0 * c + 5.0 * d - e) / 6.0;
    return (w0 * f0 + w1 * f1 + w2 * f2) / (w0 + w1 + w2);
}

// The upwind derivative at a place, where neighbours are `step` apart.
__host__ __device__ inline double upwind(const double *phi, size_t at, int step, double speed) {
    const long long side = speed > 0.0 ? -step : step;
    const double *p = phi + at;
    const double d0 = p[-2 * side] - p[-side], d1 = p[-side] - p[0], d2 = p[0] - p[side];
    const double d3 = p[side] - p[2 * side], d4 = p[2 * side] - p[3 * side];
    const double slope = weno(d4, d3, d2, d1, d0);
    return speed > 0.0 ? slope : -slope;
}

__host__ __device__ inline double advance(const double *phi, double u, double v, double w,
                                          size_t at, int row, int plane, double step) {
    return phi[at] - step * (u * upwind(phi, at, 1, u) + v * upwind(phi, at, row, v) +
                             w * upwind(phi, at, plane, w));
}

__global__ void weno5_3d(int nx, int ny, int nz, const double *__restrict__ phi,
                         const double *__restrict__ u, const double *__restrict__ v,
                         const double *__restrict__ w, double *__restrict__ next, double step) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    const int k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i < nx && j < ny && k < nz) {
        const int row = nx + 2 * GHOSTS, plane = row * (ny + 2 * GHOSTS);
        const size_t at = (size_t)(k + GHOSTS) * plane + (j + GHOSTS) * row + i + GHOSTS;
        const size_t cell = ((size_t)k * ny + j) * nx + i;
        next[cell] = advance(phi, u[cell], v[cell], w[cell], at, row, plane, step);
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 32, 600);
    const int nz = n / 2 + 3, row = n + 2 * GHOSTS, plane = row * row;
    const size_t count = (size_t)n * n * nz, all = (size_t)plane * (nz + 2 * GHOSTS);
    const auto field = [](size_t size, uint32_t seed) {
        const std::vector<float> values = quick_values(size, seed);
        return std::vector<double>(values.begin(), values.end());
    };
    const std::vector<double> phi = field(all, 1);
    std::vector<double> u = field(count, 2), v = field(count, 3), w = field(count, 4);
    // Flows turn around at some planes.
    for (size_t c = 0; c < count; c++) {
        if (c / n % n < (size_t)n / 2) u[c] = -u[c];
        if (c % n < (size_t)n / 2) v[c] = -v[c];
        if (c / n / n % 16 < 8) w[c] = -w[c];
    }
    const double *d_phi = to_device(phi), *d_u = to_device(u), *d_v = to_device(v);
    const double *d_w = to_device(w);
    double *d_next = device_zeros<double>(count);

    const double step = 0.2;
    dim3 block(32, 4, 2);
    dim3 grid(blocks_for(n, block.x), blocks_for(n, block.y), blocks_for(nz, block.z));
    weno5_3d<<<grid, block>>>(n, n, nz, d_phi, d_u, d_v, d_w, d_next, step);
    finish_launches();

    return verdict(sampled_error(from_device(d_next, count), [&](size_t c) {
        const size_t i = c % n, j = c / n % n, k = c / n / n;
        const size_t at = (k + GHOSTS) * plane + (j + GHOSTS) * row + i + GHOSTS;
        return advance(phi.data(), u[c], v[c], w[c], at, row, plane, step);
    }));
}

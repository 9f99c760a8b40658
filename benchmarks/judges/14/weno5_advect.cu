// A step of advection along y on n x n cells in FP64, with fluxes of fifth order by WENO: three
// stencils, weighted by how smooth they are. Periodic borders.
//
//     nvcc -O2 -o weno5_advect weno5_advect.cu && ./weno5_advect 1500

#include "../host.h"

// The value at the upper side of cell c from the averages of five cells.
__host__ __device__ inline double weno5(double a, double b, double c, double d, double e) {
    const double p0 = (2.0 * a - 7.0 * b + 11.0 * c) / 6.0;
    const double p1 = (-b + 5.0 * c + 2.0 * d) / 6.0;
    const double p2 = (2.0 * c + 5.0 * d - e) / 6.0;
    const double s0 = 13.0 / 12.0 * (a - 2.0 * b + c) * (a - 2.0 * b + c) +
                      0.25 * (a - 4.0 * b + 3.0 * c) * (a - 4.0 * b + 3.0 * c);
    const double s1 =
        13.0 / 12.0 * (b - 2.0 * c + d) * (b - 2.0 * c + d) + 0.25 * (b - d) * (b - d);
    const double s2 = 13.0 / 12.0 * (c - 2.0 * d + e) * (c - 2.0 * d + e) +
                      0.25 * (3.0 * c - 4.0 * d + e) * (3.0 * c - 4.0 * d + e);
    const double w0 = 0.1 / ((1e-6 + s0) * (1e-6 + s0));
    const double w1 = 0.6 / ((1e-6 + s1) * (1e-6 + s1));
    const double w2 = 0.3 / ((1e-6 + s2) * (1e-6 + s2));
    return (w0 * p0 + w1 * p1 + w2 * p2) / (w0 + w1 + w2);
}

__host__ __device__ inline int wrapped(int at, int n) {
    return at < 0 ? at + n : at < n ? at : at - n;
}

__global__ void advect(const double *__restrict__ in, double *__restrict__ out, int nx, int ny,
                       double courant) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny) return;
    double u[6];
#pragma unroll
    for (int k = 0; k < 6; k++) u[k] = in[(size_t)wrapped(y + k - 3, ny) * nx + x];
    const double lower = weno5(u[0], u[1], u[2], u[3], u[4]);
    const double upper = weno5(u[1], u[2], u[3], u[4], u[5]);
    out[(size_t)y * nx + x] = u[3] - courant * (upper - lower);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64, 15000);
    const size_t count = (size_t)n * n;
    const double courant = 0.2;
    std::vector<double> in(count);
    for (size_t i = 0; i < count; i++)
        in[i] = 1.0 + (mixed((uint32_t)i + 71u) >> 8) * (0.2 / 16777216.0);
    const double *d_in = to_device(in);
    double *d_out = device_zeros<double>(count);

    dim3 block(32, 8);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    advect<<<grid, block>>>(d_in, d_out, n, n, courant);
    finish_launches();

    const std::vector<double> out = from_device(d_out, count);
    return verdict(sampled_error(out, [&](size_t e) {
        const int x = (int)(e % n), y = (int)(e / n);
        double u[6];
        for (int k = 0; k < 6; k++) u[k] = in[(size_t)wrapped(y + k - 3, n) * n + x];
        return u[3] - courant * (weno5(u[1], u[2], u[3], u[4], u[5]) -
                                 weno5(u[0], u[1], u[2], u[3], u[4]));
    }));
}

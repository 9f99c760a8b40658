// Physics: a field of n x n x n doubles goes towards what is wanted there, by a rate for each cell.
//
//     nvcc -O2 -o relax_field3d relax_field3d.cu && ./relax_field3d 100

#include "checksum.h"

__global__ void relax(double *u, const double *target, const float *rate, double dt, int nx, int ny,
                      int nz) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    const int k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i >= nx || j >= ny || k >= nz) return;
    const int cell = (k * ny + j) * nx + i;
    u[cell] += dt * rate[cell] * (target[cell] - u[cell]);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 16, 700);
    const size_t count = (size_t)n * n * n;
    const std::vector<float> a = quick_values(count, 2311), b = quick_values(count, 2312);
    const std::vector<float> rate = quick_values(count, 2313);
    const std::vector<double> u(a.begin(), a.end()), target(b.begin(), b.end());
    double *d_u = to_device(u), *d_target = to_device(target);
    const float *d_rate = to_device(rate);

    dim3 block(32, 4, 2);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y,
              (n + block.z - 1) / block.z);
    relax<<<grid, block>>>(d_u, d_target, d_rate, 0.25, n, n, n);
    finish_launches();

    const std::vector<double> after = from_device(d_u, count);
    print_checksum("u", after);
    return verdict(sampled_error(
        after, [&](size_t e) { return u[e] + 0.25 * rate[e] * (target[e] - u[e]); }));
}

// The residual r = v - A u of a multigrid method on n x n x n points in double precision. A has 27
// points, with weights for the point itself, the sides, the edges and the corners.
//
//     nvcc -O2 -o resid27 resid27.cu && ./resid27 100

#include "../host.h"

struct Weights {
    double self, side, edge, corner;
};

__host__ __device__ inline double residual(const double *u, const double *v, size_t at, size_t row,
                                           size_t plane, Weights a) {
    double sides = 0.0, edges = 0.0, corners = 0.0;
    for (int dz = -1; dz <= 1; dz++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                const int far = dx * dx + dy * dy + dz * dz;
                const double value = u[at + dz * (long long)plane + dy * (long long)row + dx];
                if (far == 1) sides += value;
                if (far == 2) edges += value;
                if (far == 3) corners += value;
            }
    return v[at] - a.self * u[at] - a.side * sides - a.edge * edges - a.corner * corners;
}

__global__ void resid(const double *__restrict__ u, const double *__restrict__ v,
                      double *__restrict__ r, int n, Weights a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    int j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    int k = blockIdx.z * blockDim.z + threadIdx.z + 1;
    if (i < n - 1 && j < n - 1 && k < n - 1) {
        size_t at = ((size_t)k * n + j) * n + i;
        r[at] = residual(u, v, at, n, (size_t)n * n, a);
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 20, 1000);
    const size_t count = (size_t)n * n * n;
    const Weights a = {-8.0 / 3.0, 0.1, 1.0 / 6.0, 1.0 / 12.0};
    std::vector<double> u(count), v(count);
    for (size_t e = 0; e < count; e++) {
        u[e] = mixed((uint32_t)e) * 0x1p-32;
        v[e] = mixed((uint32_t)e + 99u) * 0x1p-32;
    }
    const double *d_u = to_device(u), *d_v = to_device(v);
    double *d_r = device_zeros<double>(count);

    const int inner = n > 2 ? n - 2 : 1;
    dim3 block(32, 4, 2);
    dim3 grid((inner + block.x - 1) / block.x, (inner + block.y - 1) / block.y,
              (inner + block.z - 1) / block.z);
    resid<<<grid, block>>>(d_u, d_v, d_r, n, a);
    finish_launches();

    return verdict(sampled_error(from_device(d_r, count), [&](size_t e) {
        const size_t place[3] = {e % n, e / n % n, e / n / n};
        for (size_t p : place)
            if (p == 0 || p + 1 == (size_t)n) return 0.0;
        return residual(u.data(), v.data(), e, n, (size_t)n * n, a);
    }));
}

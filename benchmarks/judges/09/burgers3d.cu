// A time step of the viscous Burgers equations for three components of a velocity: upwind
// differences, whose side depends on the sign of the velocity, and a Laplacian.
//
//     nvcc -O2 -o burgers3d burgers3d.cu && ./burgers3d 100

#include "../host.h"

#define STEP 0.1f
#define VISCOSITY 0.2f

__host__ __device__ inline float upwind(float speed, float before, float here, float after) {
    return speed > 0.0f ? speed * (here - before) : speed * (after - here);
}

// One component at index c, of values whose neighbours lie 1, `row` and `plane` apart.
__host__ __device__ inline float moved(const float *q, int c, int row, int plane, float u, float v,
                                       float w) {
    const float here = q[c];
    const float west = q[c - 1], east = q[c + 1];
    const float south = q[c - row], north = q[c + row];
    const float below = q[c - plane], above = q[c + plane];
    const float carried = upwind(u, west, here, east) + upwind(v, south, here, north) +
                          upwind(w, below, here, above);
    const float spread = west + east + south + north + below + above - 6.0f * here;
    return here + STEP * (VISCOSITY * spread - carried);
}

__global__ void burgers(const float *__restrict__ u, const float *__restrict__ v,
                        const float *__restrict__ w, float *__restrict__ new_u,
                        float *__restrict__ new_v, float *__restrict__ new_w, int nx, int ny,
                        int nz) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i < 1 || j < 1 || k < 1 || i >= nx - 1 || j >= ny - 1 || k >= nz - 1) return;
    int c = (k * ny + j) * nx + i;
    float uc = u[c], vc = v[c], wc = w[c];
    new_u[c] = moved(u, c, nx, nx * ny, uc, vc, wc);
    new_v[c] = moved(v, c, nx, nx * ny, uc, vc, wc);
    new_w[c] = moved(w, c, nx, nx * ny, uc, vc, wc);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 24, 1000);
    const int nx = n, ny = n, nz = n / 2 + 3;
    const size_t count = (size_t)nx * ny * nz;
    std::vector<float> u = quick_values(count, 1), v = quick_values(count, 2);
    std::vector<float> w = quick_values(count, 3);
    for (size_t e = 0; e < count; e++) {
        u[e] -= 0.5f;
        v[e] -= 0.5f;
        w[e] -= 0.5f;
    }
    const float *d_u = to_device(u), *d_v = to_device(v), *d_w = to_device(w);
    float *d_new_u = to_device(u), *d_new_v = to_device(v), *d_new_w = to_device(w);

    dim3 block(8, 8, 8);
    dim3 grid((nx + 7) / 8, (ny + 7) / 8, (nz + 7) / 8);
    burgers<<<grid, block>>>(d_u, d_v, d_w, d_new_u, d_new_v, d_new_w, nx, ny, nz);
    finish_launches();

    const auto expected = [&](const std::vector<float> &q, size_t e) {
        const int i = (int)(e % nx), j = (int)(e / nx % ny), k = (int)(e / nx / ny);
        if (i < 1 || j < 1 || k < 1 || i >= nx - 1 || j >= ny - 1 || k >= nz - 1) return q[e];
        return moved(q.data(), (int)e, nx, nx * ny, u[e], v[e], w[e]);
    };
    double error = sampled_error(from_device(d_new_u, count),
                                 [&](size_t e) { return expected(u, e); });
    error += sampled_error(from_device(d_new_v, count), [&](size_t e) { return expected(v, e); });
    error += sampled_error(from_device(d_new_w, count), [&](size_t e) { return expected(w, e); });
    return verdict(error);
}

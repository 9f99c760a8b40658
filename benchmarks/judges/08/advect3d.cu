// A step of semi-Lagrangian advection on n x n x n / 2 cells: each cell looks where its fluid came
// from, and takes the density there, interpolated between eight cells.
//
//     nvcc -O2 -o advect3d advect3d.cu && ./advect3d 100

#include "../host.h"

__host__ __device__ inline float trace_back(const float *density, int i, int j, int k, float u,
                                            float v, float w, int nx, int ny, int nz) {
    const float x = fminf(fmaxf(i - u, 0.0f), nx - 1.001f);
    const float y = fminf(fmaxf(j - v, 0.0f), ny - 1.001f);
    const float z = fminf(fmaxf(k - w, 0.0f), nz - 1.001f);
    const int i0 = (int)x, j0 = (int)y, k0 = (int)z;
    const float fx = x - i0, fy = y - j0, fz = z - k0;
    const float *near = density + ((size_t)k0 * ny + j0) * nx + i0;
    const float *far = near + (size_t)ny * nx;
    const float a = near[0] + fx * (near[1] - near[0]);
    const float b = near[nx] + fx * (near[nx + 1] - near[nx]);
    const float c = far[0] + fx * (far[1] - far[0]);
    const float d = far[nx] + fx * (far[nx + 1] - far[nx]);
    const float front = a + fy * (b - a), back = c + fy * (d - c);
    return front + fz * (back - front);
}

__global__ void advect(const float *density, const float *u, const float *v, const float *w,
                       float *advected, float dt, int nx, int ny, int nz) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i >= nx || j >= ny || k >= nz) return;
    int at = (k * ny + j) * nx + i;
    advected[at] = trace_back(density, i, j, k, dt * u[at], dt * v[at], dt * w[at], nx, ny, nz);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 24, 1200);
    const int nx = n, ny = n, nz = n / 2 + 2;
    const size_t count = (size_t)nx * ny * nz;
    const float dt = 2.0f;
    const std::vector<float> density = quick_values(count, 1);
    // A whirl around the middle that rises, with some noise.
    std::vector<float> u(count), v(count), w(count);
    for (size_t e = 0; e < count; e++) {
        const int i = (int)(e % nx), j = (int)(e / nx % ny);
        const float noise = (float)(mixed((uint32_t)e) >> 8) * 0x1p-25f;
        u[e] = 3.0f * (0.5f - (float)j / ny) + noise;
        v[e] = 3.0f * ((float)i / nx - 0.5f) - noise;
        w[e] = 0.4f + noise;
    }
    const float *d_density = to_device(density);
    const float *d_u = to_device(u), *d_v = to_device(v), *d_w = to_device(w);
    float *d_advected = device_zeros<float>(count);

    dim3 block(32, 4, 2);
    dim3 grid((nx + block.x - 1) / block.x, (ny + block.y - 1) / block.y,
              (nz + block.z - 1) / block.z);
    advect<<<grid, block>>>(d_density, d_u, d_v, d_w, d_advected, dt, nx, ny, nz);
    finish_launches();

    return verdict(sampled_error(from_device(d_advected, count), [&](size_t e) {
        const int i = (int)(e % nx), j = (int)(e / nx % ny), k = (int)(e / nx / ny);
        return trace_back(density.data(), i, j, k, dt * u[e], dt * v[e], dt * w[e], nx, ny, nz);
    }));
}

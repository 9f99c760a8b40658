// The eddy viscosity of Smagorinsky's model on an n x n x n box: the nine central differences of a
// velocity, and from them the magnitude of the rate of strain.
//
//     nvcc -O2 -o smagorinsky3d smagorinsky3d.cu && ./smagorinsky3d 100

#include "../host.h"

// At index c, with neighbours 1, `row` and `plane` apart; spacings are halved in `scale`.
__host__ __device__ inline float viscosity(const float *u, const float *v, const float *w, int c,
                                           int row, int plane, float scale, float length) {
    const float ux = u[c + 1] - u[c - 1], uy = u[c + row] - u[c - row];
    const float uz = u[c + plane] - u[c - plane];
    const float vx = v[c + 1] - v[c - 1], vy = v[c + row] - v[c - row];
    const float vz = v[c + plane] - v[c - plane];
    const float wx = w[c + 1] - w[c - 1], wy = w[c + row] - w[c - row];
    const float wz = w[c + plane] - w[c - plane];
    const float xy = uy + vx, xz = uz + wx, yz = vz + wy;
    const float strain = 2.0f * (ux * ux + vy * vy + wz * wz) + xy * xy + xz * xz + yz * yz;
    return length * length * scale * sqrtf(strain);
}

__global__ void smagorinsky(const float *__restrict__ u, const float *__restrict__ v,
                            const float *__restrict__ w, float *__restrict__ eddy, int nx, int ny,
                            int nz, float scale, float length) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i >= 1 && i < nx - 1 && j >= 1 && j < ny - 1 && k >= 1 && k < nz - 1) {
        int c = (k * ny + j) * nx + i;
        eddy[c] = viscosity(u, v, w, c, nx, nx * ny, scale, length);
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 24, 1000);
    const size_t count = (size_t)n * n * n;
    const std::vector<float> u = quick_values(count, 1), v = quick_values(count, 2);
    const std::vector<float> w = quick_values(count, 3);
    const float *d_u = to_device(u), *d_v = to_device(v), *d_w = to_device(w);
    float *d_eddy = device_zeros<float>(count);

    const float scale = 0.5f, length = 0.17f;
    dim3 block(32, 4, 2);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y,
              (n + block.z - 1) / block.z);
    smagorinsky<<<grid, block>>>(d_u, d_v, d_w, d_eddy, n, n, n, scale, length);
    finish_launches();

    return verdict(sampled_error(from_device(d_eddy, count), [&](size_t e) {
        const int i = (int)(e % n), j = (int)(e / n % n), k = (int)(e / n / n);
        if (i < 1 || j < 1 || k < 1 || i >= n - 1 || j >= n - 1 || k >= n - 1) return 0.0f;
        return viscosity(u.data(), v.data(), w.data(), (int)e, n, n * n, scale, length);
    }));
}

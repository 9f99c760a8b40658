// A step of lattice Boltzmann with 19 directions on n x n x n periodic cells: each cell pulls the
// populations from its neighbours and relaxes them. The directions lie one after the other.
//
//     nvcc -O2 -o lattice_d3q19 lattice_d3q19.cu && ./lattice_d3q19 64

#include "../host.h"

#define Q 19

__constant__ int directions[Q][3];
__constant__ float weights[Q];

static const int host_directions[Q][3] = {
    {0, 0, 0},  {1, 0, 0},  {-1, 0, 0},  {0, 1, 0},  {0, -1, 0},  {0, 0, 1},  {0, 0, -1},
    {1, 1, 0},  {-1, -1, 0}, {1, -1, 0}, {-1, 1, 0}, {1, 0, 1},   {-1, 0, -1}, {1, 0, -1},
    {-1, 0, 1}, {0, 1, 1},  {0, -1, -1}, {0, 1, -1}, {0, -1, 1}};

__host__ __device__ inline float relaxed(float f, float weight, float rho, float along,
                                         float square, float omega) {
    const float equilibrium =
        weight * rho * (1.0f + 3.0f * along + 4.5f * along * along - 1.5f * square);
    return f + omega * (equilibrium - f);
}

__global__ void stream_collide(const float *f, float *f_new, int nx, int ny, int nz, float omega) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= nx || y >= ny || z >= nz) return;
    const size_t cells = (size_t)nx * ny * nz;
    float pulled[Q], rho = 0.0f, ux = 0.0f, uy = 0.0f, uz = 0.0f;
#pragma unroll
    for (int q = 0; q < Q; q++) {
        const int sx = (x - directions[q][0] + nx) % nx, sy = (y - directions[q][1] + ny) % ny;
        const int sz = (z - directions[q][2] + nz) % nz;
        pulled[q] = f[q * cells + ((size_t)sz * ny + sy) * nx + sx];
        rho += pulled[q];
        ux += directions[q][0] * pulled[q];
        uy += directions[q][1] * pulled[q];
        uz += directions[q][2] * pulled[q];
    }
    ux /= rho, uy /= rho, uz /= rho;
    const float square = ux * ux + uy * uy + uz * uz;
    const size_t here = ((size_t)z * ny + y) * nx + x;
#pragma unroll
    for (int q = 0; q < Q; q++) {
        const float along = directions[q][0] * ux + directions[q][1] * uy + directions[q][2] * uz;
        f_new[q * cells + here] = relaxed(pulled[q], weights[q], rho, along, square, omega);
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 12, 400);
    const size_t cells = (size_t)n * n * n;
    const float omega = 1.3f;
    float w[Q];
    for (int q = 0; q < Q; q++) w[q] = q == 0 ? 1.0f / 3 : q < 7 ? 1.0f / 18 : 1.0f / 36;
    CHECK(cudaMemcpyToSymbol(directions, host_directions, sizeof(directions)));
    CHECK(cudaMemcpyToSymbol(weights, w, sizeof(weights)));
    std::vector<float> f = quick_values(Q * cells, 1);
    for (size_t e = 0; e < Q * cells; e++) f[e] = w[e / cells] * (0.9f + 0.2f * f[e]);
    const float *d_f = to_device(f);
    float *d_f_new = device_zeros<float>(Q * cells);

    dim3 block(128, 1, 1);
    dim3 grid((n + block.x - 1) / block.x, n, n);
    stream_collide<<<grid, block>>>(d_f, d_f_new, n, n, n, omega);
    finish_launches();

    return verdict(sampled_error(from_device(d_f_new, Q * cells), [&](size_t e) {
        const size_t cell = e % cells;
        const int at[3] = {(int)(cell % n), (int)(cell / n % n), (int)(cell / n / n)};
        float pulled[Q], rho = 0.0f, u[3] = {0.0f, 0.0f, 0.0f};
        for (int q = 0; q < Q; q++) {
            size_t from[3];
            for (int a = 0; a < 3; a++) from[a] = (at[a] - host_directions[q][a] + n) % n;
            pulled[q] = f[q * cells + (from[2] * n + from[1]) * n + from[0]];
            rho += pulled[q];
            for (int a = 0; a < 3; a++) u[a] += host_directions[q][a] * pulled[q];
        }
        float square = 0.0f, along = 0.0f;
        for (int a = 0; a < 3; a++) {
            u[a] /= rho;
            square += u[a] * u[a];
            along += host_directions[e / cells][a] * u[a];
        }
        return relaxed(pulled[e / cells], w[e / cells], rho, along, square, omega);
    }));
}

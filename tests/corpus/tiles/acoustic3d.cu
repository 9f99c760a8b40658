// A step of the acoustic wave equation, fourth order in space: a block marches through its part of
// the planes, the present plane with a halo in shared memory, those before and behind in registers.
//
//     nvcc -O2 -o acoustic3d acoustic3d.cu && ./acoustic3d 100 90 80

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#ifndef BLOCK_X
#define BLOCK_X 32
#endif
#ifndef BLOCK_Y
#define BLOCK_Y 8
#endif

constexpr int PLANES = 32; // that a block marches through
constexpr int HALO = 2;
constexpr float C0 = -2.5f, C1 = 4.0f / 3.0f, C2 = -1.0f / 12.0f;

#define CHECK(call)                                                                              \
    do {                                                                                         \
        cudaError_t error = (call);                                                              \
        if (error != cudaSuccess) {                                                              \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error));       \
            exit(1);                                                                             \
        }                                                                                        \
    } while (0)

// Zero beyond the box.
__device__ float load(const float *u, int x, int y, int z, int nx, int ny, int nz) {
    const bool inside = x >= 0 && x < nx && y >= 0 && y < ny && z >= 0 && z < nz;
    return inside ? u[((size_t)z * ny + y) * nx + x] : 0.0f;
}

__global__ void wave_step(const float *u, const float *before, float *after, int nx, int ny, int nz,
                          float factor) {
    __shared__ float plane[BLOCK_Y + 2 * HALO][BLOCK_X + 2 * HALO];
    const int left = blockIdx.x * BLOCK_X - HALO, top = blockIdx.y * BLOCK_Y - HALO;
    const int x = left + HALO + threadIdx.x, y = top + HALO + threadIdx.y;
    const int sx = threadIdx.x + HALO, sy = threadIdx.y + HALO;
    const int first = blockIdx.z * PLANES, end = min(first + PLANES, nz);

    float behind2 = load(u, x, y, first - 2, nx, ny, nz);
    float behind1 = load(u, x, y, first - 1, nx, ny, nz);
    float here = load(u, x, y, first, nx, ny, nz);
    float ahead1 = load(u, x, y, first + 1, nx, ny, nz);
    for (int z = first; z < end; z++) {
        const float ahead2 = load(u, x, y, z + 2, nx, ny, nz);
        for (int j = threadIdx.y; j < BLOCK_Y + 2 * HALO; j += BLOCK_Y)
            for (int i = threadIdx.x; i < BLOCK_X + 2 * HALO; i += BLOCK_X)
                plane[j][i] = load(u, left + i, top + j, z, nx, ny, nz);
        __syncthreads();
        if (x < nx && y < ny) {
            const float near = plane[sy][sx - 1] + plane[sy][sx + 1] + plane[sy - 1][sx] +
                               plane[sy + 1][sx] + behind1 + ahead1;
            const float far = plane[sy][sx - 2] + plane[sy][sx + 2] + plane[sy - 2][sx] +
                              plane[sy + 2][sx] + behind2 + ahead2;
            const size_t at = ((size_t)z * ny + y) * nx + x;
            after[at] = 2.0f * here - before[at] + factor * (3.0f * C0 * here + C1 * near + C2 * far);
        }
        __syncthreads();
        behind2 = behind1, behind1 = here, here = ahead1, ahead1 = ahead2;
    }
}

int main(int argc, char **argv) {
    const int nx = argc > 1 ? atoi(argv[1]) : 100;
    const int ny = argc > 2 ? atoi(argv[2]) : 90;
    const int nz = argc > 3 ? atoi(argv[3]) : 80;
    const size_t count = (size_t)nx * ny * nz, bytes = count * sizeof(float);
    const float factor = 0.1f;

    std::vector<float> u(count), before(count), after(count);
    unsigned state = 31415;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        u[i] = 1.0f + (state >> 8) * 0x1p-24f;
        before[i] = 0.5f * u[i];
    }
    float *d_u, *d_before, *d_after;
    CHECK(cudaMalloc(&d_u, bytes));
    CHECK(cudaMalloc(&d_before, bytes));
    CHECK(cudaMalloc(&d_after, bytes));
    CHECK(cudaMemcpy(d_u, u.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_before, before.data(), bytes, cudaMemcpyHostToDevice));

    dim3 block(BLOCK_X, BLOCK_Y);
    dim3 grid((nx + BLOCK_X - 1) / BLOCK_X, (ny + BLOCK_Y - 1) / BLOCK_Y, (nz + PLANES - 1) / PLANES);
    wave_step<<<grid, block>>>(d_u, d_before, d_after, nx, ny, nz, factor);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(after.data(), d_after, bytes, cudaMemcpyDeviceToHost));

    auto at = [&](int x, int y, int z) -> double {
        const bool inside = x >= 0 && x < nx && y >= 0 && y < ny && z >= 0 && z < nz;
        return inside ? u[((size_t)z * ny + y) * nx + x] : 0.0;
    };
    bool right = true;
    for (size_t i = 0; count <= 1 << 20 && i < count; i += 11) {
        const int x = i % nx, y = i / nx % ny, z = i / nx / ny;
        double sum = 3.0 * C0 * u[i];
        for (int d = 1; d <= 2; d++)
            sum += (d == 1 ? C1 : C2) * (at(x - d, y, z) + at(x + d, y, z) + at(x, y - d, z) +
                                         at(x, y + d, z) + at(x, y, z - d) + at(x, y, z + d));
        right = right && fabs(after[i] - (2.0 * u[i] - before[i] + factor * sum)) <= 1e-4;
    }
    double sum = 0.0, squares = 0.0;
    for (float value : after) sum += value, squares += (double)value * value;
    printf("sum %.6e, squares %.6e\n%s\n", sum, squares, right ? "PASS" : "FAIL");
    cudaFree(d_u), cudaFree(d_before), cudaFree(d_after);
    return right ? 0 : 1;
}

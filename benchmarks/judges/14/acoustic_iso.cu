// A time step of the acoustic wave equation on n x n x n points, of eighth order in space: a star
// of 25 points. The array of the step before is overwritten with the new one.
//
//     nvcc -O2 -o acoustic_iso acoustic_iso.cu && ./acoustic_iso 180

#include "../host.h"

#define HALO 4

__constant__ float coefficients[HALO + 1];

__global__ void wave_step(float *__restrict__ previous, const float *__restrict__ current,
                          const float *__restrict__ velocity, int nx, int ny, int nz) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < HALO || y < HALO || z < HALO) return;
    if (x >= nx - HALO || y >= ny - HALO || z >= nz - HALO) return;

    const int plane = nx * ny;
    const int at = z * plane + y * nx + x;
    float laplacian = 3.0f * coefficients[0] * current[at];
#pragma unroll
    for (int r = 1; r <= HALO; r++)
        laplacian += coefficients[r] * (current[at - r] + current[at + r] + current[at - r * nx] +
                                        current[at + r * nx] + current[at - r * plane] +
                                        current[at + r * plane]);
    previous[at] = 2.0f * current[at] - previous[at] + velocity[at] * laplacian;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 32, 1000);
    const size_t count = (size_t)n * n * n;
    const float weights[HALO + 1] = {-205.0f / 72, 8.0f / 5, -1.0f / 5, 8.0f / 315, -1.0f / 560};
    const std::vector<float> previous = quick_values(count, 41);
    std::vector<float> current = quick_values(count, 42);
    std::vector<float> velocity(count);
    for (size_t i = 0; i < count; i++) {
        current[i] += 1.0f;
        velocity[i] = 0.01f + 0.001f * (float)(i / n % 31);
    }
    CHECK(cudaMemcpyToSymbol(coefficients, weights, sizeof(weights)));
    float *d_previous = to_device(previous);
    const float *d_current = to_device(current);
    const float *d_velocity = to_device(velocity);

    dim3 block(8, 8, 8);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y,
              (n + block.z - 1) / block.z);
    wave_step<<<grid, block>>>(d_previous, d_current, d_velocity, n, n, n);
    finish_launches();

    const std::vector<float> next = from_device(d_previous, count);
    return verdict(sampled_error(next, [&](size_t e) {
        const int x = (int)(e % n), y = (int)(e / n % n), z = (int)(e / n / n);
        const size_t plane = (size_t)n * n;
        if (x < HALO || y < HALO || z < HALO) return previous[e];
        if (x >= n - HALO || y >= n - HALO || z >= n - HALO) return previous[e];
        float laplacian = 3.0f * weights[0] * current[e];
        for (int r = 1; r <= HALO; r++)
            laplacian += weights[r] * (current[e - r] + current[e + r] + current[e - r * n] +
                                       current[e + r * n] + current[e - r * plane] +
                                       current[e + r * plane]);
        return 2.0f * current[e] - previous[e] + velocity[e] * laplacian;
    }));
}

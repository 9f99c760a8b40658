// Two time steps of the Allen-Cahn equation on an n x n x n box whose opposite sides meet: a
// Laplacian of 19 points and a cubic term.
//
//     nvcc -O2 -o allen_cahn3d allen_cahn3d.cu && ./allen_cahn3d 100

#include "../host.h"

__host__ __device__ inline float advanced(const float *phase, int i, int j, int k, int nx, int ny,
                                          int nz) {
    const int west = i > 0 ? i - 1 : nx - 1, east = i < nx - 1 ? i + 1 : 0;
    const int south = (j > 0 ? j - 1 : ny - 1) * nx, north = (j < ny - 1 ? j + 1 : 0) * nx;
    const int below = (k > 0 ? k - 1 : nz - 1) * nx * ny;
    const int above = (k < nz - 1 ? k + 1 : 0) * nx * ny;
    const int row = j * nx, plane = k * nx * ny;
    const float here = phase[plane + row + i];
    const float faces = phase[plane + row + west] + phase[plane + row + east] +
                        phase[plane + south + i] + phase[plane + north + i] +
                        phase[below + row + i] + phase[above + row + i];
    const float edges = phase[plane + south + west] + phase[plane + south + east] +
                        phase[plane + north + west] + phase[plane + north + east] +
                        phase[below + row + west] + phase[below + row + east] +
                        phase[above + row + west] + phase[above + row + east] +
                        phase[below + south + i] + phase[below + north + i] +
                        phase[above + south + i] + phase[above + north + i];
    const float laplacian = (2.0f * faces + edges - 24.0f * here) * (1.0f / 6.0f);
    return here + 0.05f * (laplacian + here - here * here * here);
}

__global__ void allen_cahn(const float *__restrict__ phase, float *__restrict__ next, int nx,
                           int ny, int nz) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i < nx && j < ny && k < nz)
        next[(k * ny + j) * nx + i] = advanced(phase, i, j, k, nx, ny, nz);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 24, 1000);
    const size_t count = (size_t)n * n * n;
    std::vector<float> phase = quick_values(count, 1);
    for (float &value : phase) value = 2.0f * value - 1.0f;
    float *d_phase = to_device(phase), *d_next = device_zeros<float>(count);

    dim3 block(32, 4, 4);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y,
              (n + block.z - 1) / block.z);
    allen_cahn<<<grid, block>>>(d_phase, d_next, n, n, n);
    allen_cahn<<<grid, block>>>(d_next, d_phase, n, n, n);
    finish_launches();

    // The second step from what the device found in the first, which is checked as well.
    const std::vector<float> first = from_device(d_next, count);
    const auto from = [&](const std::vector<float> &values, size_t e) {
        return advanced(values.data(), (int)(e % n), (int)(e / n % n), (int)(e / n / n), n, n, n);
    };
    const double error = sampled_error(first, [&](size_t e) { return from(phase, e); });
    return verdict(error + sampled_error(from_device(d_phase, count),
                                         [&](size_t e) { return from(first, e); }));
}

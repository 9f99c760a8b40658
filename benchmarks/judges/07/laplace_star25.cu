// The Laplacian of eighth order of a field of n x (n - 3) x n/2 points, as reverse time migration
// has it: four points to each side along every axis, weights in constant memory. A structure holds
// the dimensions.
//
//     nvcc -O2 -o laplace_star25 laplace_star25.cu && ./laplace_star25 200

#include "../host.h"

#define R 4

struct Grid {
    int nx, ny, nz;
    float scale_x, scale_y, scale_z;
};

__constant__ float coefficients[R + 1];

__global__ void laplacian(const float *__restrict__ field, float *__restrict__ result, Grid g) {
    const int ix = blockIdx.x * blockDim.x + threadIdx.x;
    const int iy = blockIdx.y * blockDim.y + threadIdx.y;
    const int iz = blockIdx.z * blockDim.z + threadIdx.z;
    if (ix < R || iy < R || iz < R || ix >= g.nx - R || iy >= g.ny - R || iz >= g.nz - R) return;

    const int row = g.nx, plane = g.nx * g.ny;
    const int at = iz * plane + iy * row + ix;
    const float middle = coefficients[0] * field[at];
    float x = middle, y = middle, z = middle;
#pragma unroll
    for (int r = 1; r <= R; r++) {
        x += coefficients[r] * (field[at - r] + field[at + r]);
        y += coefficients[r] * (field[at - r * row] + field[at + r * row]);
        z += coefficients[r] * (field[at - r * plane] + field[at + r * plane]);
    }
    result[at] = g.scale_x * x + g.scale_y * y + g.scale_z * z;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 24, 1200);
    const Grid g = {n, n > 3 ? n - 3 : 1, n / 2 + 1, 1.0f, 0.9f, 1.4f};
    const size_t count = (size_t)g.nx * g.ny * g.nz;
    const float weights[R + 1] = {-205.0f / 72, 8.0f / 5, -1.0f / 5, 8.0f / 315, -1.0f / 560};
    CHECK(cudaMemcpyToSymbol(coefficients, weights, sizeof(weights)));
    const std::vector<float> field = quick_values(count, 1);
    const float *d_field = to_device(field);
    float *d_result = device_zeros<float>(count);

    dim3 block(8, 8, 8);
    dim3 grid((g.nx + block.x - 1) / block.x, (g.ny + block.y - 1) / block.y,
              (g.nz + block.z - 1) / block.z);
    laplacian<<<grid, block>>>(d_field, d_result, g);
    finish_launches();

    return verdict(sampled_error(from_device(d_result, count), [&](size_t e) {
        const size_t size[3] = {(size_t)g.nx, (size_t)g.ny, (size_t)g.nz};
        const float scale[3] = {g.scale_x, g.scale_y, g.scale_z};
        double sum = 0.0;
        for (size_t a = 0, stride = 1; a < 3; stride *= size[a++]) {
            const size_t place = e / stride % size[a];
            if (place < R || place + R >= size[a]) return 0.0;
            sum += scale[a] * weights[0] * field[e];
            for (size_t r = 1; r <= R; r++)
                sum += scale[a] * weights[r] * (field[e - r * stride] + field[e + r * stride]);
        }
        return sum;
    }));
}

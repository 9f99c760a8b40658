// One step of heat conduction on an n x n x n grid: seven points, boundaries left as they are.
//
//     nvcc -O2 -o stencil3d stencil3d.cu && ./stencil3d 100

#include "../judge.h"

__global__ void stencil3d(int n, float rate, const float *old_heat, float *new_heat) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    const int k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i > 0 && i < n - 1 && j > 0 && j < n - 1 && k > 0 && k < n - 1) {
        const int at = (k * n + j) * n + i;
        const float around = old_heat[at - 1] + old_heat[at + 1] + old_heat[at - n] +
                             old_heat[at + n] + old_heat[at - n * n] + old_heat[at + n * n];
        new_heat[at] = old_heat[at] + rate * (around - 6.0f * old_heat[at]);
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 40, 1024);
    const size_t count = (size_t)n * n * n, plane = (size_t)n * n;
    const std::vector<float> old_heat = fixed_values(count, 1);
    float *device_old = to_device(old_heat), *device_new = to_device(old_heat);

    dim3 block(32, 4, 2);
    dim3 grid(blocks_for(n, block.x), blocks_for(n, block.y), blocks_for(n, block.z));
    stencil3d<<<grid, block>>>(n, 0.1f, device_old, device_new);
    finish_launches();

    return verdict(sampled_error(from_device(device_new, count), [&](size_t e) {
        const size_t i = e % n, j = e / n % n, k = e / plane;
        const size_t last = (size_t)n - 1;
        if (i == 0 || i == last || j == 0 || j == last || k == 0 || k == last) return old_heat[e];
        const float around = old_heat[e - 1] + old_heat[e + 1] + old_heat[e - n] + old_heat[e + n] +
                             old_heat[e - plane] + old_heat[e + plane];
        return old_heat[e] + 0.1f * (around - 6.0f * old_heat[e]);
    }));
}

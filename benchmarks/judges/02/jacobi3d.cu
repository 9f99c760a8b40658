// One Jacobi sweep for Poisson's equation on n x n x n inner points, in double precision; the grid
// has one layer of boundary values around them.
//
//     nvcc -O2 -o jacobi3d jacobi3d.cu && ./jacobi3d 100

#include "../judge.h"

__global__ void jacobi3d(int n, double square, const double *source, const double *old_values,
                         double *new_values) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    const int k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i < n && j < n && k < n) {
        const int pitch = n + 2, plane = pitch * pitch;
        const int at = (k + 1) * plane + (j + 1) * pitch + i + 1;
        new_values[at] = (old_values[at - 1] + old_values[at + 1] + old_values[at - pitch] +
                          old_values[at + pitch] + old_values[at - plane] + old_values[at + plane] -
                          square * source[at]) /
                         6.0;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 40, 1024);
    const size_t pitch = (size_t)n + 2, plane = pitch * pitch, count = plane * pitch;
    const std::vector<float> numbers = fixed_values(2 * count, 1);
    const std::vector<double> source(numbers.begin(), numbers.begin() + count);
    const std::vector<double> old_values(numbers.begin() + count, numbers.end());
    const double square = 0.25;
    double *device_source = to_device(source), *device_old = to_device(old_values);
    double *device_new = to_device(old_values);

    dim3 block(8, 8, 8);
    dim3 grid(blocks_for(n, block.x), blocks_for(n, block.y), blocks_for(n, block.z));
    jacobi3d<<<grid, block>>>(n, square, device_source, device_old, device_new);
    finish_launches();

    return verdict(sampled_error(from_device(device_new, count), [&](size_t e) {
        const size_t i = e % pitch, j = e / pitch % pitch, k = e / plane, last = pitch - 1;
        if (i == 0 || i == last || j == 0 || j == last || k == 0 || k == last) return old_values[e];
        return (old_values[e - 1] + old_values[e + 1] + old_values[e - pitch] +
                old_values[e + pitch] + old_values[e - plane] + old_values[e + plane] -
                square * source[e]) /
               6.0;
    }));
}

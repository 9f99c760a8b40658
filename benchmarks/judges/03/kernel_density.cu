// The density of n points of the plane at each of them: a sum over all, with Gaussian weights.
//
//     nvcc -O2 -o kernel_density kernel_density.cu && ./kernel_density 10000

#include "../judge.h"

__global__ void kernel_density(int n, float width, const float2 *points, float *densities) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float2 here = points[i];
    const float scale = -0.5f / (width * width);
    float sum = 0.0f;
    for (int j = 0; j < n; j++) {
        const float dx = points[j].x - here.x, dy = points[j].y - here.y;
        sum += __expf(scale * (dx * dx + dy * dy));
    }
    densities[i] = sum / (6.2831853f * width * width * n);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 1 << 20);
    const std::vector<float> numbers = fixed_values(2 * (size_t)n, 1);
    std::vector<float2> points(n);
    for (int i = 0; i < n; i++) points[i] = make_float2(numbers[2 * i], numbers[2 * i + 1]);
    float2 *device_points = to_device(points);
    float *device_densities = to_device(std::vector<float>(n));

    const float width = 0.1f;
    const int block_size = 128;
    const int grid_size = (n + block_size - 1) / block_size;
    kernel_density<<<grid_size, block_size>>>(n, width, device_points, device_densities);
    finish_launches();

    return verdict(sampled_error(from_device(device_densities, n), [&](size_t i) {
        double sum = 0.0;
        for (const float2 &point : points) {
            const double dx = point.x - points[i].x, dy = point.y - points[i].y;
            sum += exp(-0.5 / (width * width) * (dx * dx + dy * dy));
        }
        return sum / (6.2831853 * width * width * n);
    }));
}

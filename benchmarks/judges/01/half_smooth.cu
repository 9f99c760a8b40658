// Five-point smoothing of an n x n image in half precision, computed in single precision.
//
//     nvcc -O2 -o half_smooth half_smooth.cu && ./half_smooth 1000

#include "../judge.h"

#include <cuda_fp16.h>

__global__ void half_smooth(int n, const __half *image, __half *smooth) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i > 0 && j > 0 && i < n - 1 && j < n - 1) {
        const int at = j * n + i;
        const float around = __half2float(image[at - 1]) + __half2float(image[at + 1]) +
                             __half2float(image[at - n]) + __half2float(image[at + n]);
        smooth[at] = __float2half(0.5f * __half2float(image[at]) + 0.125f * around);
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 200);
    const size_t count = (size_t)n * n;
    std::vector<__half> image(count);
    const std::vector<float> numbers = fixed_values(count, 1);
    for (size_t e = 0; e < count; e++) image[e] = __float2half(numbers[e]);
    __half *device_image = to_device(image), *device_smooth = to_device(image);

    dim3 block(32, 8);
    dim3 grid(blocks_for(n, block.x), blocks_for(n, block.y));
    half_smooth<<<grid, block>>>(n, device_image, device_smooth);
    finish_launches();

    const std::vector<__half> found = from_device(device_smooth, count);
    std::vector<float> actual(count);
    for (size_t e = 0; e < count; e++) actual[e] = __half2float(found[e]);
    const auto pixel = [&](size_t e) { return __half2float(image[e]); };
    return verdict(sampled_error(actual, [&](size_t e) {
        const size_t i = e % n, j = e / n, last = (size_t)n - 1;
        if (i == 0 || j == 0 || i == last || j == last) return pixel(e);
        const float around = pixel(e - 1) + pixel(e + 1) + pixel(e - n) + pixel(e + n);
        return __half2float(__float2half(0.5f * pixel(e) + 0.125f * around));
    }));
}

// An image of 5 n / 3 x 5 n / 3 pixels made smaller, to n x n, by bilinear interpolation: four
// loads from computed places per pixel.
//
//     nvcc -O2 -o resize_bilinear resize_bilinear.cu && ./resize_bilinear 600

#include "../judge.h"

__host__ __device__ inline float sample(const float *image, int width, int height, float x,
                                        float y) {
    x = fminf(fmaxf(x, 0.0f), width - 1.0f);
    y = fminf(fmaxf(y, 0.0f), height - 1.0f);
    const int left = (int)x, top = (int)y;
    const int right = left + 1 < width ? left + 1 : left;
    const int bottom = top + 1 < height ? top + 1 : top;
    const float u = x - left, v = y - top;
    const float *upper = image + top * width, *lower = image + bottom * width;
    const float above = (1.0f - u) * upper[left] + u * upper[right];
    const float below = (1.0f - u) * lower[left] + u * lower[right];
    return (1.0f - v) * above + v * below;
}

__global__ void resize_bilinear(const float *source, int source_width, int source_height,
                                float *target, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const float scale_x = (float)source_width / width, scale_y = (float)source_height / height;
    target[y * width + x] = sample(source, source_width, source_height,
                                   fmaf(x + 0.5f, scale_x, -0.5f), fmaf(y + 0.5f, scale_y, -0.5f));
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 150, 16000), m = (int)(5LL * n / 3);
    const size_t count = (size_t)n * n;
    const std::vector<float> source = fixed_values((size_t)m * m, 1);
    float *device_source = to_device(source), *device_target = to_device(std::vector<float>(count));

    dim3 block(16, 16);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    resize_bilinear<<<grid, block>>>(device_source, m, m, device_target, n, n);
    finish_launches();

    const float scale = (float)m / n;
    return verdict(sampled_error(from_device(device_target, count), [&](size_t e) {
        return sample(source.data(), m, m, fmaf(e % n + 0.5f, scale, -0.5f),
                      fmaf(e / n + 0.5f, scale, -0.5f));
    }));
}

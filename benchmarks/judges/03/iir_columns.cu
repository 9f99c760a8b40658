// An exponential smoothing of an n x n image along its columns, down and then up again; a thread
// walks along a column.
//
//     nvcc -O2 -o iir_columns iir_columns.cu && ./iir_columns 1000

#include "../judge.h"

__global__ void iir_columns(int width, int height, float share, const float *image, float *smooth) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= width) return;
    float level = image[x];
    for (int y = 0; y < height; y++) {
        level += share * (image[y * width + x] - level);
        smooth[y * width + x] = level;
    }
    for (int y = height - 1; y >= 0; y--) {
        level += share * (smooth[y * width + x] - level);
        smooth[y * width + x] = level;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 150);
    const size_t count = (size_t)n * n;
    const std::vector<float> image = fixed_values(count, 1);
    float *device_image = to_device(image), *device_smooth = to_device(std::vector<float>(count));

    const float share = 0.2f;
    const unsigned block = 128;
    iir_columns<<<blocks_for(n, block), block>>>(n, n, share, device_image, device_smooth);
    finish_launches();

    std::vector<float> expected(image);
    for (size_t e = n; e < count; e++)
        expected[e] = expected[e - n] + share * (image[e] - expected[e - n]);
    for (size_t e = count - n; e-- > 0;)
        expected[e] = expected[e + n] + share * (expected[e] - expected[e + n]);
    return verdict(sampled_error(from_device(device_smooth, count),
                                 [&](size_t e) { return expected[e]; }));
}

// Imaging: a blurred picture of n x n is divided by its blur, as spectra of n rows of n/2 + 1
// complex numbers, so that noise stays small. Its programmer let x run along columns.
//
//     nvcc -O2 -o wiener_spectra wiener_spectra.cu && ./wiener_spectra 900

#include "../host.h"

__host__ __device__ inline float2 restored(float2 picture, float2 blur, float noise) {
    const float power = blur.x * blur.x + blur.y * blur.y + noise;
    return make_float2((picture.x * blur.x + picture.y * blur.y) / power,
                       (picture.y * blur.x - picture.x * blur.y) / power);
}

__global__ void restore(const float2 *pictures, const float2 *blurs, const float *noises,
                        float2 *results, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) {
        size_t i = (size_t)row * columns + column;
        results[i] = restored(pictures[i], blurs[i], noises[i]);
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 40, 16000);
    const int columns = n / 2 + 1;
    const size_t count = (size_t)n * columns;
    const std::vector<float> pictures = quick_values(2 * count, 2081);
    const std::vector<float> blurs = quick_values(2 * count, 2082);
    std::vector<float> noises = quick_values(count, 2083);
    for (float &noise : noises) noise = 0.05f + 0.1f * noise;
    const float *d_pictures = to_device(pictures), *d_blurs = to_device(blurs);
    const float *d_noises = to_device(noises);
    float *d_results = device_zeros<float>(2 * count);

    dim3 block(16, 16);
    dim3 grid((n + block.x - 1) / block.x, (columns + block.y - 1) / block.y);
    restore<<<grid, block>>>((const float2 *)d_pictures, (const float2 *)d_blurs, d_noises,
                             (float2 *)d_results, n, columns);
    finish_launches();

    const std::vector<float> results = from_device(d_results, 2 * count);
    return verdict(sampled_error(results, [&](size_t e) {
        const size_t i = e / 2;
        const float2 result = restored(make_float2(pictures[2 * i], pictures[2 * i + 1]),
                                       make_float2(blurs[2 * i], blurs[2 * i + 1]), noises[i]);
        return e % 2 ? result.y : result.x;
    }));
}

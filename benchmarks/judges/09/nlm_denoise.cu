// Non-local means of an n x n image: a pixel becomes the mean of the 7 x 7 pixels around it,
// weighted by how much their 3 x 3 patches resemble its own. Outside, the nearest pixel counts.
//
//     nvcc -O2 -o nlm_denoise nlm_denoise.cu && ./nlm_denoise 500

#include "../host.h"

#define SEARCH 3
#define PATCH 1

__host__ __device__ inline int clamped(int at, int n) { return at < 0 ? 0 : at < n ? at : n - 1; }

__host__ __device__ inline float denoised(const float *image, int x, int y, int n,
                                          float strength) {
    float sum = 0.0f, weights = 0.0f;
    for (int dy = -SEARCH; dy <= SEARCH; dy++)
        for (int dx = -SEARCH; dx <= SEARCH; dx++) {
            float distance = 0.0f;
            for (int py = -PATCH; py <= PATCH; py++)
                for (int px = -PATCH; px <= PATCH; px++) {
                    const float own = image[clamped(y + py, n) * n + clamped(x + px, n)];
                    const float other =
                        image[clamped(y + dy + py, n) * n + clamped(x + dx + px, n)];
                    distance += (own - other) * (own - other);
                }
            const float weight = expf(-distance * strength);
            sum += weight * image[clamped(y + dy, n) * n + clamped(x + dx, n)];
            weights += weight;
        }
    return sum / weights;
}

__global__ void nlm_denoise(const float *__restrict__ image, float *__restrict__ out, int n,
                            float strength) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) return;
    out[y * n + x] = denoised(image, x, y, n, strength);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 40, 20000);
    const size_t count = (size_t)n * n;
    const float strength = 2.5f;
    const std::vector<float> image = quick_values(count, 1);
    const float *d_image = to_device(image);
    float *d_out = device_zeros<float>(count);

    dim3 block(16, 16);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    nlm_denoise<<<grid, block>>>(d_image, d_out, n, strength);
    finish_launches();

    return verdict(sampled_error(from_device(d_out, count), [&](size_t e) {
        return denoised(image.data(), (int)(e % n), (int)(e / n), n, strength);
    }));
}

// Tomography: what a scanner would measure of a slice of n x n pixels, 180 angles of n rays each.
// A ray takes a step of a pixel at a time and adds up what lies between four pixels.
//
//     nvcc -O2 -o radon_forward radon_forward.cu && ./radon_forward 200

#include "../host.h"

#define ANGLES 180

__host__ __device__ inline float along_ray(const float *slice, int n, float2 direction, int ray) {
    const float middle = 0.5f * (n - 1), aside = ray - middle;
    float x = middle - direction.y * aside - direction.x * middle;
    float y = middle + direction.x * aside - direction.y * middle;
    float sum = 0.0f;
    for (int step = 0; step < n; step++) {
        const int column = (int)floorf(x), row = (int)floorf(y);
        if (column >= 0 && row >= 0 && column + 1 < n && row + 1 < n) {
            const float fx = x - column, fy = y - row;
            const float *pixel = slice + (size_t)row * n + column;
            const float upper = pixel[0] + fx * (pixel[1] - pixel[0]);
            const float lower = pixel[n] + fx * (pixel[n + 1] - pixel[n]);
            sum += upper + fy * (lower - upper);
        }
        x += direction.x;
        y += direction.y;
    }
    return sum;
}

__global__ void forward_project(const float *__restrict__ slice,
                                const float2 *__restrict__ directions, float *__restrict__ rays,
                                int n) {
    const int ray = blockIdx.x * blockDim.x + threadIdx.x;
    const int angle = blockIdx.y * blockDim.y + threadIdx.y;
    if (ray >= n || angle >= ANGLES) return;
    rays[(size_t)angle * n + ray] = along_ray(slice, n, directions[angle], ray);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 24, 20000);
    std::vector<float> slice = quick_values((size_t)n * n, 1610);
    // Nothing outside of a circle, so that no ray begins or ends within the body.
    for (int y = 0; y < n; y++)
        for (int x = 0; x < n; x++) {
            const float dx = 2.0f * x / n - 1.0f, dy = 2.0f * y / n - 1.0f;
            if (dx * dx + dy * dy > 0.8f) slice[(size_t)y * n + x] = 0.0f;
        }
    std::vector<float2> directions(ANGLES);
    for (int a = 0; a < ANGLES; a++) {
        const double angle = (a + 0.25) * 3.141592653589793 / ANGLES;
        directions[a] = make_float2((float)cos(angle), (float)sin(angle));
    }
    const float *d_slice = to_device(slice);
    const float2 *d_directions = to_device(directions);
    float *d_rays = device_zeros<float>((size_t)ANGLES * n);

    dim3 block(256, 1);
    dim3 grid((n + block.x - 1) / block.x, (ANGLES + block.y - 1) / block.y);
    forward_project<<<grid, block>>>(d_slice, d_directions, d_rays, n);
    finish_launches();

    const std::vector<float> rays = from_device(d_rays, (size_t)ANGLES * n);
    return verdict(sampled_error(rays, [&](size_t e) {
        return along_ray(slice.data(), n, directions[e / n], (int)(e % n));
    }));
}

// Computed tomography: an image of n x n pixels from its projections under 180 angles, each pixel
// the sum of what the detectors saw that it was projected to, interpolated between two of them.
//
//     nvcc -O2 -o ct_backproject ct_backproject.cu && ./ct_backproject 512

#include "../host.h"

#define ANGLES 180

__global__ void backproject(const float *__restrict__ sinogram,
                            const float2 *__restrict__ directions, float *__restrict__ image,
                            int n, int detectors, int angles) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) return;
    const float px = (float)x - 0.5f * (float)(n - 1), py = (float)y - 0.5f * (float)(n - 1);
    const float centre = 0.5f * (float)(detectors - 1);
    float sum = 0.0f;
    for (int a = 0; a < angles; a++) {
        const float2 direction = directions[a];
        const float place = px * direction.x + py * direction.y + centre;
        const int left = (int)floorf(place);
        if (left >= 0 && left < detectors - 1) {
            const float *row = sinogram + (size_t)a * detectors + left;
            const float part = place - (float)left;
            sum += row[0] * (1.0f - part) + row[1] * part;
        }
    }
    image[(size_t)y * n + x] = sum * (3.1415927f / (float)angles);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 32, 16000);
    const int detectors = n + n / 2;
    const size_t count = (size_t)n * n;
    // A smooth sinogram: interpolation between unrelated numbers would depend on how places round.
    std::vector<float> sinogram((size_t)ANGLES * detectors);
    std::vector<float2> directions(ANGLES);
    for (int a = 0; a < ANGLES; a++) {
        const double angle = 3.14159265358979 * a / ANGLES;
        directions[a] = {(float)cos(angle), (float)sin(angle)};
        for (int d = 0; d < detectors; d++) {
            const double place = (d - 0.5 * (detectors - 1)) / n - 0.2 * cos(angle - 0.7);
            sinogram[(size_t)a * detectors + d] =
                (float)(exp(-8.0 * place * place) + 0.2 * sin(9.0 * place + 0.05 * a));
        }
    }
    const float *d_sinogram = to_device(sinogram);
    const float2 *d_directions = to_device(directions);
    float *d_image = device_zeros<float>(count);

    dim3 block(16, 16);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    backproject<<<grid, block>>>(d_sinogram, d_directions, d_image, n, detectors, ANGLES);
    finish_launches();

    return verdict(sampled_error(from_device(d_image, count), [&](size_t e) {
        const double px = (double)(e % n) - 0.5 * (n - 1), py = (double)(e / n) - 0.5 * (n - 1);
        double sum = 0.0;
        for (int a = 0; a < ANGLES; a++) {
            const double place =
                px * directions[a].x + py * directions[a].y + 0.5 * (detectors - 1);
            const int left = (int)floor(place);
            if (left < 0 || left >= detectors - 1) continue;
            const float *row = sinogram.data() + (size_t)a * detectors + left;
            sum += row[0] * (1.0 - (place - left)) + row[1] * (place - left);
        }
        return sum * 3.14159265358979 / ANGLES;
    }));
}

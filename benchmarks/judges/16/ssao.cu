// Graphics: how much of the sky each pixel of a picture of n x 9n/16 sees, from its depths.
// Sixteen points around the pixel's own are projected back; where the picture's surface is nearer
// than such a point, it is hidden.
//
//     nvcc -O2 -o ssao ssao.cu && ./ssao 900

#include "../host.h"

#define POINTS 16

__constant__ float3 around[POINTS];

// The depth between four pixels.
__host__ __device__ inline float depth_at(const float *depths, int width, int height, float x,
                                          float y) {
    x = fminf(fmaxf(x, 0.0f), width - 1.001f);
    y = fminf(fmaxf(y, 0.0f), height - 1.001f);
    const int column = (int)x, row = (int)y;
    const float fx = x - column, fy = y - row;
    const float *pixel = depths + (size_t)row * width + column;
    const float upper = pixel[0] + fx * (pixel[1] - pixel[0]);
    const float lower = pixel[width] + fx * (pixel[width + 1] - pixel[width]);
    return upper + fy * (lower - upper);
}

__host__ __device__ inline float open_sky(const float *depths, const float3 *points, int width,
                                          int height, int x, int y, float radius) {
    const float depth = depths[(size_t)y * width + x];
    const float focal = 0.8f * width, centre_x = 0.5f * width, centre_y = 0.5f * height;
    const float scale = depth / focal;
    const float px = (x - centre_x) * scale, py = (y - centre_y) * scale;
    // Turned by one of four quarters, by the pixel's place.
    const float c = (x & 1) ? 0.6f : 0.8f, s = (y & 1) ? sqrtf(1.0f - c * c) : -sqrtf(1.0f - c * c);
    float hidden = 0.0f;
    for (int k = 0; k < POINTS; k++) {
        const float3 point = points[k];
        const float qx = px + radius * (c * point.x - s * point.y);
        const float qy = py + radius * (s * point.x + c * point.y);
        const float qz = depth + radius * point.z;
        const float towards = focal / qz;
        const float seen =
            depth_at(depths, width, height, qx * towards + centre_x, qy * towards + centre_y);
        const float nearer = fminf(fmaxf((qz - seen) * 20.0f, 0.0f), 1.0f);
        const float range = fminf(1.0f, radius / (fabsf(depth - seen) + 1e-4f));
        hidden += nearer * range * range;
    }
    return 1.0f - hidden / POINTS;
}

__global__ void ambient(const float *__restrict__ depths, float *__restrict__ sky, int width,
                        int height, float radius) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    sky[(size_t)y * width + x] = open_sky(depths, around, width, height, x, y, radius);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 48, 30000);
    const int width = n, height = 9 * n / 16;
    const size_t count = (size_t)width * height;
    std::vector<float> depths = quick_values(count, 1606);
    std::vector<float> across(width);
    for (int x = 0; x < width; x++) across[x] = 0.6f * sinf(24.0f * x / width);
    for (int y = 0; y < height; y++) {
        const float down = 4.0f + 0.8f * cosf(15.0f * y / height);
        for (int x = 0; x < width; x++) {
            float &depth = depths[(size_t)y * width + x];
            depth = down + across[x] + 0.03f * depth;
        }
    }
    std::vector<float3> points(POINTS);
    for (int k = 0; k < POINTS; k++) {
        const float angle = 2.4f * k, far = (k + 1.0f) / POINTS;
        points[k] = make_float3(far * cosf(angle), far * sinf(angle), -0.7f * far);
    }
    CHECK(cudaMemcpyToSymbol(around, points.data(), POINTS * sizeof(float3)));
    const float radius = 0.25f;
    const float *d_depths = to_device(depths);
    float *d_sky = device_zeros<float>(count);

    dim3 block(8, 8);
    dim3 grid((width + block.x - 1) / block.x, (height + block.y - 1) / block.y);
    ambient<<<grid, block>>>(d_depths, d_sky, width, height, radius);
    finish_launches();

    const std::vector<float> sky = from_device(d_sky, count);
    return verdict(sampled_error(sky, [&](size_t e) {
        return open_sky(depths.data(), points.data(), width, height, (int)(e % width),
                        (int)(e / width), radius);
    }));
}

// Takes the distortion of a lens out of an n x n image of four bytes per pixel: a map says where
// each pixel comes from, and the four around that place are blended by weights of five bits.
//
//     nvcc -O2 -o remap_lens remap_lens.cu && ./remap_lens 1000

#include "../host.h"

__host__ __device__ inline unsigned char blend(int a, int b, int c, int d, int fx, int fy) {
    return (unsigned char)(((a * (32 - fx) + b * fx) * (32 - fy) + (c * (32 - fx) + d * fx) * fy +
                            512) >> 10);
}

__host__ __device__ inline uchar4 sample(const uchar4 *image, int n, float2 from) {
    const float left = floorf(from.x), top = floorf(from.y);
    const int x = (int)left, y = (int)top;
    if (x < 0 || y < 0 || x >= n - 1 || y >= n - 1) return make_uchar4(0, 0, 0, 255);
    const int fx = (int)((from.x - left) * 32.0f), fy = (int)((from.y - top) * 32.0f);
    const uchar4 a = image[y * n + x], b = image[y * n + x + 1];
    const uchar4 c = image[(y + 1) * n + x], d = image[(y + 1) * n + x + 1];
    return make_uchar4(blend(a.x, b.x, c.x, d.x, fx, fy), blend(a.y, b.y, c.y, d.y, fx, fy),
                       blend(a.z, b.z, c.z, d.z, fx, fy), 255);
}

__global__ void remap(const uchar4 *image, const float2 *map, uchar4 *result, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) return;
    result[y * n + x] = sample(image, n, map[y * n + x]);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64);
    const size_t count = (size_t)n * n;
    const std::vector<uchar4> image = quick_bits<uchar4>(count, 1);
    std::vector<float2> map(count);
    const float middle = 0.5f * n, unit = 1.0f / ((float)n * n);
    for (int y = 0; y < n; y++)
        for (int x = 0; x < n; x++) {
            const float dx = x - middle, dy = y - middle;
            const float stretch = 1.05f - 0.3f * unit * (dx * dx + dy * dy);
            map[(size_t)y * n + x] = make_float2(middle + dx * stretch, middle + dy * stretch);
        }
    const uchar4 *d_image = to_device(image);
    const float2 *d_map = to_device(map);
    uchar4 *d_result = device_zeros<uchar4>(count);

    dim3 block(16, 16);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    remap<<<grid, block>>>(d_image, d_map, d_result, n);
    finish_launches();

    const std::vector<unsigned char> found = from_device((unsigned char *)d_result, 4 * count);
    return verdict(sampled_error(found, [&](size_t e) {
        const uchar4 pixel = sample(image.data(), n, map[e / 4]);
        const unsigned char parts[4] = {pixel.x, pixel.y, pixel.z, pixel.w};
        return parts[e % 4];
    }));
}

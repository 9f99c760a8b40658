// The corner measure of Harris for an n x n image: gradients, their products summed over 3 x 3
// pixels, determinant and trace. A block keeps its pixels and two around them in dynamic shared
// memory; outside the image the nearest pixel counts.
//
//     nvcc -O2 -o harris_tile harris_tile.cu && ./harris_tile 1000

#include "../host.h"

__host__ __device__ inline int nearest(int at, int n) { return at < 0 ? 0 : at < n ? at : n - 1; }

// The measure at the middle of a 5 x 5 window, whose rows are `pitch` apart.
__host__ __device__ inline float corner(const float *window, int pitch) {
    float xx = 0.0f, xy = 0.0f, yy = 0.0f;
    for (int r = 1; r <= 3; r++)
        for (int c = 1; c <= 3; c++) {
            const float *at = window + r * pitch + c;
            const float gx = 0.5f * (at[1] - at[-1]);
            const float gy = 0.5f * (at[pitch] - at[-pitch]);
            xx += gx * gx;
            xy += gx * gy;
            yy += gy * gy;
        }
    const float trace = xx + yy;
    return xx * yy - xy * xy - 0.05f * trace * trace;
}

#pragma cutune kernel harris data(n) block(x: 8, 16, 32, 64, 128, y: 2, 4, 8, 16, 32) \
    where(x * y <= 1024) grid(ceil(n / x), ceil(n / y)) shared(4 * (x + 4) * (y + 4))
__global__ void harris(const float *image, float *measure, int n) {
    extern __shared__ float tile[];
    const int pitch = blockDim.x + 4, rows = blockDim.y + 4;
    const int left = blockIdx.x * blockDim.x - 2, top = blockIdx.y * blockDim.y - 2;
    for (int r = threadIdx.y; r < rows; r += blockDim.y)
        for (int c = threadIdx.x; c < pitch; c += blockDim.x)
            tile[r * pitch + c] = image[nearest(top + r, n) * n + nearest(left + c, n)];
    __syncthreads();

    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) return;
    measure[y * n + x] = corner(&tile[threadIdx.y * pitch + threadIdx.x], pitch);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64);
    const size_t count = (size_t)n * n;
    const std::vector<float> image = quick_values(count, 1);
    const float *d_image = to_device(image);
    float *d_measure = device_zeros<float>(count);

    dim3 block(32, 8);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    size_t shared_bytes = (block.x + 4) * (block.y + 4) * sizeof(float);
    harris<<<grid, block, shared_bytes>>>(d_image, d_measure, n);
    finish_launches();

    return verdict(sampled_error(from_device(d_measure, count), [&](size_t e) {
        const int x = (int)(e % n), y = (int)(e / n);
        float window[25];
        for (int r = 0; r < 5; r++)
            for (int c = 0; c < 5; c++)
                window[5 * r + c] =
                    image[(size_t)nearest(y + r - 2, n) * n + nearest(x + c - 2, n)];
        return corner(window, 5);
    }));
}

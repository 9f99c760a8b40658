// Census transform, as before the matching of stereo images: each pixel becomes 62 bits that say
// which of the others in 9 x 7 around it are darker. A block keeps its pixels and the margin as
// bytes in dynamic shared memory; outside, the nearest counts.
//
//     nvcc -O2 -o census_tile census_tile.cu && ./census_tile 1000

#include "../host.h"

#define REACH_X 4
#define REACH_Y 3

__host__ __device__ inline int nearest(int at, int n) { return at < 0 ? 0 : at < n ? at : n - 1; }

#pragma cutune kernel census data(width, height) \
    block(x: 8, 16, 32, 64, 128, y: 2, 4, 8, 16, 32) where(x * y <= 1024) \
    grid(ceil(width / x), ceil(height / y)) shared((x + 8) * (y + 6))
__global__ void census(const unsigned char *__restrict__ image,
                       unsigned long long *__restrict__ out, int width, int height) {
    extern __shared__ unsigned char tile[];
    const int pitch = blockDim.x + 2 * REACH_X, rows = blockDim.y + 2 * REACH_Y;
    const int left = blockIdx.x * blockDim.x - REACH_X, top = blockIdx.y * blockDim.y - REACH_Y;
    for (int r = threadIdx.y; r < rows; r += blockDim.y)
        for (int c = threadIdx.x; c < pitch; c += blockDim.x)
            tile[r * pitch + c] =
                image[nearest(top + r, height) * width + nearest(left + c, width)];
    __syncthreads();

    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const unsigned char *corner = tile + threadIdx.y * pitch + threadIdx.x;
    const int own = corner[REACH_Y * pitch + REACH_X];
    unsigned long long bits = 0;
    for (int r = 0; r <= 2 * REACH_Y; r++)
        for (int c = 0; c <= 2 * REACH_X; c++)
            if (r != REACH_Y || c != REACH_X) bits = bits << 1 | (corner[r * pitch + c] < own);
    out[y * width + x] = bits;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64, 20000);
    const int width = n, height = n / 4 * 3 + 1;
    const size_t count = (size_t)width * height;
    const std::vector<unsigned char> image = quick_bits<unsigned char>(count, 1);
    const unsigned char *d_image = to_device(image);
    unsigned long long *d_out = device_zeros<unsigned long long>(count);

    dim3 block(32, 8);
    dim3 grid((width + block.x - 1) / block.x, (height + block.y - 1) / block.y);
    size_t shared_bytes = (block.x + 2 * REACH_X) * (block.y + 2 * REACH_Y);
    census<<<grid, block, shared_bytes>>>(d_image, d_out, width, height);
    finish_launches();

    // How many of the 62 bits differ.
    const std::vector<unsigned long long> out = from_device(d_out, count);
    const size_t step = count / 1000 + 1;
    std::vector<int> wrong;
    for (size_t e = 0; e < count; e += step) {
        const int x = (int)(e % width), y = (int)(e / width);
        unsigned long long bits = 0;
        for (int dy = -REACH_Y; dy <= REACH_Y; dy++)
            for (int dx = -REACH_X; dx <= REACH_X; dx++)
                if (dx != 0 || dy != 0) {
                    const int from = nearest(y + dy, height) * width + nearest(x + dx, width);
                    bits = bits << 1 | (image[from] < image[e]);
                }
        int differ = 0;
        for (bits ^= out[e]; bits != 0; bits &= bits - 1) differ++;
        wrong.push_back(differ);
    }
    return verdict(sampled_error(wrong, [](size_t) { return 0; }));
}

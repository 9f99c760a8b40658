// The next level of an image pyramid: an image of bytes is smoothed by 5 x 5 binomial weights, and
// of its pixels every second one is kept, n x (3 n / 4) of them. A block keeps its part of the
// image in dynamic shared memory; outside there are the nearest pixels.
//
//     nvcc -O2 -o pyramid_down pyramid_down.cu && ./pyramid_down 1000

#include "../host.h"

__host__ __device__ inline int clamped(int i, int size) {
    return i < 0 ? 0 : i < size ? i : size - 1;
}

#pragma cutune kernel pyramid_down data(width, height) \
    block(x: 8, 16, 32, 64, 128, y: 2, 4, 8, 16, 32) where(x * y <= 1024) \
    grid(ceil(width / x), ceil(height / y)) shared(4 * (2 * x + 3) * (2 * y + 3))
__global__ void pyramid_down(const unsigned char *__restrict__ in, unsigned char *__restrict__ out,
                             int width, int height) {
    extern __shared__ int tile[];
    const int columns = 2 * blockDim.x + 3, rows = 2 * blockDim.y + 3;
    const int left = 2 * blockIdx.x * blockDim.x - 2, top = 2 * blockIdx.y * blockDim.y - 2;
    for (int r = threadIdx.y; r < rows; r += blockDim.y) {
        const unsigned char *line = in + (size_t)clamped(top + r, 2 * height) * 2 * width;
        for (int c = threadIdx.x; c < columns; c += blockDim.x)
            tile[r * columns + c] = line[clamped(left + c, 2 * width)];
    }
    __syncthreads();

    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const int weights[5] = {1, 4, 6, 4, 1};
    int sum = 128;
#pragma unroll
    for (int r = 0; r < 5; r++) {
        const int *line = tile + (2 * threadIdx.y + r) * columns + 2 * threadIdx.x;
        sum += weights[r] * (line[0] + 4 * line[1] + 6 * line[2] + 4 * line[3] + line[4]);
    }
    out[(size_t)y * width + x] = (unsigned char)(sum >> 8);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64, 20000);
    const int width = n, height = 3 * n / 4 + 1;
    const size_t count = (size_t)width * height;
    const std::vector<unsigned char> in = quick_bits<unsigned char>(4 * count, 1);
    const unsigned char *d_in = to_device(in);
    unsigned char *d_out = device_zeros<unsigned char>(count);

    dim3 block(16, 16);
    dim3 grid((width + block.x - 1) / block.x, (height + block.y - 1) / block.y);
    const size_t shared_bytes = (2 * block.x + 3) * (2 * block.y + 3) * sizeof(int);
    pyramid_down<<<grid, block, shared_bytes>>>(d_in, d_out, width, height);
    finish_launches();

    return verdict(sampled_error(from_device(d_out, count), [&](size_t e) {
        const int x = (int)(e % width), y = (int)(e / width), weights[5] = {1, 4, 6, 4, 1};
        int sum = 128;
        for (int r = 0; r < 5; r++)
            for (int c = 0; c < 5; c++) {
                const size_t row = clamped(2 * y + r - 2, 2 * height);
                sum += weights[r] * weights[c] *
                       in[row * 2 * width + clamped(2 * x + c - 2, 2 * width)];
            }
        return sum >> 8;
    }));
}

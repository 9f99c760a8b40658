// Depth from two images of n x (3 n / 4) bytes: for each pixel that one of 32 shifts whose sums of
// absolute differences over 5 x 5 pixels is smallest. A block keeps its parts of both images in
// dynamic shared memory; outside, the nearest pixel counts.
//
//     nvcc -O2 -o stereo_sad stereo_sad.cu && ./stereo_sad 640

#include "../host.h"

#define RADIUS 2
#define SHIFTS 32

__host__ __device__ inline int nearest(int at, int n) { return at < 0 ? 0 : at < n ? at : n - 1; }

// The best shift for the pixel whose window begins at `left`; that in the other image without a
// shift begins at `right`.
__host__ __device__ inline unsigned char best_shift(const unsigned char *left, int left_pitch,
                                                    const unsigned char *right, int right_pitch) {
    int best = 1 << 30, found = 0;
    for (int shift = 0; shift < SHIFTS; shift++) {
        int sum = 0;
#pragma unroll
        for (int r = 0; r <= 2 * RADIUS; r++)
#pragma unroll
            for (int c = 0; c <= 2 * RADIUS; c++)
                sum += abs((int)left[r * left_pitch + c] - (int)right[r * right_pitch + c - shift]);
        if (sum < best) {
            best = sum;
            found = shift;
        }
    }
    return (unsigned char)found;
}

#pragma cutune kernel stereo_sad data(width, height) \
    block(x: 8, 16, 32, 64, 128, y: 2, 4, 8, 16, 32) where(x * y <= 1024) \
    grid(ceil(width / x), ceil(height / y)) shared((2 * x + 39) * (y + 4))
__global__ void stereo_sad(const unsigned char *__restrict__ left,
                           const unsigned char *__restrict__ right,
                           unsigned char *__restrict__ out, int width, int height) {
    extern __shared__ unsigned char tiles[];
    const int left_pitch = blockDim.x + 2 * RADIUS, rows = blockDim.y + 2 * RADIUS;
    const int right_pitch = left_pitch + SHIFTS - 1;
    unsigned char *a = tiles, *b = tiles + left_pitch * rows;
    const int first = blockIdx.x * blockDim.x - RADIUS, top = blockIdx.y * blockDim.y - RADIUS;
    for (int r = threadIdx.y; r < rows; r += blockDim.y) {
        const int from = nearest(top + r, height) * width;
        for (int c = threadIdx.x; c < left_pitch; c += blockDim.x)
            a[r * left_pitch + c] = left[from + nearest(first + c, width)];
        for (int c = threadIdx.x; c < right_pitch; c += blockDim.x)
            b[r * right_pitch + c] = right[from + nearest(first + c - (SHIFTS - 1), width)];
    }
    __syncthreads();

    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
        out[y * width + x] = best_shift(a + threadIdx.y * left_pitch + threadIdx.x, left_pitch,
                                        b + threadIdx.y * right_pitch + threadIdx.x + SHIFTS - 1,
                                        right_pitch);
}

int main(int argc, char **argv) {
    const int width = size_argument(argc, argv, 64, 20000), height = width * 3 / 4;
    const size_t count = (size_t)width * height;
    const std::vector<unsigned char> left = quick_bits<unsigned char>(count, 1);
    std::vector<unsigned char> right = quick_bits<unsigned char>(count, 2);
    // The right image is the left one, shifted by a distance that changes, and some noise.
    for (size_t e = 0; e < count; e++) {
        const int x = (int)(e % width), shift = (int)(e / width / 8 % SHIFTS);
        const size_t row = e - x;
        right[e] = (unsigned char)((7 * left[row + nearest(x + shift, width)] + right[e]) / 8);
    }
    const unsigned char *d_left = to_device(left), *d_right = to_device(right);
    unsigned char *d_out = device_zeros<unsigned char>(count);

    dim3 block(32, 8);
    dim3 grid((width + block.x - 1) / block.x, (height + block.y - 1) / block.y);
    size_t shared_bytes = (2 * block.x + 39) * (block.y + 4);
    stereo_sad<<<grid, block, shared_bytes>>>(d_left, d_right, d_out, width, height);
    finish_launches();

    return verdict(sampled_error(from_device(d_out, count), [&](size_t e) {
        const int x = (int)(e % width), y = (int)(e / width), pitch = 2 * RADIUS + SHIFTS;
        unsigned char a[5 * 5], b[5 * pitch];
        for (int r = 0; r < 5; r++) {
            const size_t row = (size_t)nearest(y + r - RADIUS, height) * width;
            for (int c = 0; c < 5; c++) a[5 * r + c] = left[row + nearest(x + c - RADIUS, width)];
            for (int c = 0; c < pitch; c++)
                b[r * pitch + c] = right[row + nearest(x + c - RADIUS - (SHIFTS - 1), width)];
        }
        return best_shift(a, 5, b + SHIFTS - 1, pitch);
    }));
}

// Images: a filter of 7 x 7 whole weights over n x n bytes, rounded and clamped, with a tile of 32
// x 8 and its margin in shared memory; beyond the edges the nearest byte counts.
//
//     nvcc -O2 -o conv7_bytes conv7_bytes.cu && ./conv7_bytes 1000

#include "../host.h"

#define TILE_WIDTH 32
#define TILE_HEIGHT 8
#define RADIUS 3
#define SIZE (2 * RADIUS + 1)
#define SHIFT 8
#define SPAN_X (TILE_WIDTH + 2 * RADIUS)
#define SPAN_Y (TILE_HEIGHT + 2 * RADIUS)

typedef unsigned char Byte;

__constant__ short filter[SIZE * SIZE];

__host__ __device__ inline int limited(int value, int last) {
    return value < 0 ? 0 : value > last ? last : value;
}

__global__ void convolve(const Byte *picture, Byte *filtered, int n) {
    __shared__ Byte tile[SPAN_Y * SPAN_X];
    const int left = blockIdx.x * TILE_WIDTH - RADIUS, top = blockIdx.y * TILE_HEIGHT - RADIUS;
    for (int i = threadIdx.y * TILE_WIDTH + threadIdx.x; i < SPAN_X * SPAN_Y;
         i += TILE_WIDTH * TILE_HEIGHT)
        tile[i] = picture[(size_t)limited(top + i / SPAN_X, n - 1) * n +
                          limited(left + i % SPAN_X, n - 1)];
    __syncthreads();
    const int x = blockIdx.x * TILE_WIDTH + threadIdx.x;
    const int y = blockIdx.y * TILE_HEIGHT + threadIdx.y;
    if (x >= n || y >= n) return;
    int sum = 1 << (SHIFT - 1);
    for (int dy = 0; dy < SIZE; dy++)
        for (int dx = 0; dx < SIZE; dx++)
            sum += filter[dy * SIZE + dx] * tile[(threadIdx.y + dy) * SPAN_X + threadIdx.x + dx];
    filtered[(size_t)y * n + x] = (Byte)limited(sum >> SHIFT, 255);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 50, 40000);
    const size_t count = (size_t)n * n;
    const std::vector<Byte> picture = quick_bits<Byte>(count, 2211);
    std::vector<short> own(SIZE * SIZE);
    for (int i = 0; i < SIZE * SIZE; i++) {
        const int dx = i % SIZE - RADIUS, dy = i / SIZE - RADIUS;
        own[i] = (short)(dx == 0 && dy == 0 ? 320 : (dx * dx + dy * dy < 5 ? 12 : -6));
    }
    CHECK(cudaMemcpyToSymbol(filter, own.data(), own.size() * sizeof(short)));
    const Byte *d_picture = to_device(picture);
    Byte *d_filtered = device_zeros<Byte>(count);

    dim3 block(TILE_WIDTH, TILE_HEIGHT);
    dim3 grid((n + TILE_WIDTH - 1) / TILE_WIDTH, (n + TILE_HEIGHT - 1) / TILE_HEIGHT);
    convolve<<<grid, block>>>(d_picture, d_filtered, n);
    finish_launches();

    const std::vector<Byte> filtered = from_device(d_filtered, count);
    return verdict(sampled_error(filtered, [&](size_t e) {
        const int x = (int)(e % n), y = (int)(e / n);
        int sum = 1 << (SHIFT - 1);
        for (int i = 0; i < SIZE * SIZE; i++) {
            const int px = limited(x + i % SIZE - RADIUS, n - 1);
            const int py = limited(y + i / SIZE - RADIUS, n - 1);
            sum += own[i] * picture[(size_t)py * n + px];
        }
        return limited(sum >> SHIFT, 255);
    }));
}

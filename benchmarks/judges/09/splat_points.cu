// Draws n points of a scanner into an image: each is projected in whole numbers, and the nearest
// point of a pixel wins by an atomic minimum of 64 bits of depth and number. A second kernel turns
// the winners into shades.
//
//     nvcc -O2 -o splat_points splat_points.cu && ./splat_points 1000000

#include "../host.h"

typedef unsigned long long Winner;

// Four numbers of 16 bits: place and brightness. The pixel that is hit, or -1.
__host__ __device__ inline int pixel_of(short4 point, int side, int *depth) {
    *depth = 12000 + (point.z & 0x7fff);
    const int x = side / 2 + point.x * side / (2 * *depth);
    const int y = side / 2 + point.y * side / (2 * *depth);
    return x >= 0 && y >= 0 && x < side && y < side ? y * side + x : -1;
}

__host__ __device__ inline float shade(short4 point) {
    return (float)(point.w & 0xff) / (1.0f + 1e-4f * (float)(point.z & 0x7fff));
}

__global__ void splat(const short4 *__restrict__ points, int n, Winner *winners, int side) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int depth;
        const int pixel = pixel_of(points[i], side, &depth);
        if (pixel >= 0) atomicMin(&winners[pixel], (Winner)depth << 32 | (Winner)i);
    }
}

__global__ void resolve(const Winner *__restrict__ winners, const short4 *__restrict__ points,
                        float *__restrict__ image, int side) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < side && y < side) {
        const Winner winner = winners[y * side + x];
        image[y * side + x] = winner == ~0ULL ? 0.0f : shade(points[winner & 0xffffffffULL]);
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 4000, 1 << 27);
    const int side = 8 + (int)sqrt(n / 4.0);
    const size_t pixels = (size_t)side * side;
    const std::vector<short> bits = quick_bits<short>(4 * (size_t)n, 1);
    std::vector<Winner> winners(pixels, ~0ULL);
    const short4 *d_points = (const short4 *)to_device(bits);
    Winner *d_winners = to_device(winners);
    float *d_image = device_zeros<float>(pixels);

    const int threads = 256;
    splat<<<(n + threads - 1) / threads, threads>>>(d_points, n, d_winners, side);
    dim3 block(16, 16);
    dim3 grid((side + block.x - 1) / block.x, (side + block.y - 1) / block.y);
    resolve<<<grid, block>>>(d_winners, d_points, d_image, side);
    finish_launches();

    const short4 *points = (const short4 *)bits.data();
    for (int i = 0; i < n; i++) {
        int depth;
        const int pixel = pixel_of(points[i], side, &depth);
        const Winner mine = (Winner)depth << 32 | (Winner)i;
        if (pixel >= 0 && mine < winners[pixel]) winners[pixel] = mine;
    }
    return verdict(sampled_error(from_device(d_image, pixels), [&](size_t e) {
        return winners[e] == ~0ULL ? 0.0f : shade(points[winners[e] & 0xffffffffULL]);
    }));
}

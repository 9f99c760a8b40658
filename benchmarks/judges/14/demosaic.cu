// Colours from a camera's raw picture of n x n numbers of 12 bits under a Bayer filter, by the
// linear 5 x 5 filters of Malvar, He and Cutler. Borders are mirrored.
//
//     nvcc -O2 -o demosaic demosaic.cu && ./demosaic 2600

#include "../host.h"

__host__ __device__ inline int mirrored(int at, int n) {
    return at < 0 ? -at : at < n ? at : 2 * n - 2 - at;
}

__host__ __device__ inline int pixel(const unsigned short *raw, int x, int y, int n) {
    return raw[(size_t)mirrored(y, n) * n + mirrored(x, n)];
}

// From sixteenths of 12 bits to 8 bits.
__host__ __device__ inline unsigned char level(int value) {
    value >>= 8;
    return (unsigned char)(value < 0 ? 0 : value > 255 ? 255 : value);
}

// Red is where both coordinates are even, blue where both are odd.
__host__ __device__ inline uchar4 colour(const unsigned short *raw, int x, int y, int n) {
    const int own = pixel(raw, x, y, n);
    const int beside = pixel(raw, x - 1, y, n) + pixel(raw, x + 1, y, n);
    const int above = pixel(raw, x, y - 1, n) + pixel(raw, x, y + 1, n);
    const int beside2 = pixel(raw, x - 2, y, n) + pixel(raw, x + 2, y, n);
    const int above2 = pixel(raw, x, y - 2, n) + pixel(raw, x, y + 2, n);
    const int corners = pixel(raw, x - 1, y - 1, n) + pixel(raw, x + 1, y - 1, n) +
                        pixel(raw, x - 1, y + 1, n) + pixel(raw, x + 1, y + 1, n);
    int red, green, blue;
    if ((x ^ y) & 1) {
        const int across = 10 * own + 8 * beside - 2 * corners - 2 * beside2 + above2;
        const int along = 10 * own + 8 * above - 2 * corners - 2 * above2 + beside2;
        green = 16 * own;
        red = y & 1 ? along : across;
        blue = y & 1 ? across : along;
    } else {
        const int opposite = 12 * own + 4 * corners - 3 * (beside2 + above2);
        green = 8 * own + 4 * (beside + above) - 2 * (beside2 + above2);
        red = y & 1 ? opposite : 16 * own;
        blue = y & 1 ? 16 * own : opposite;
    }
    return make_uchar4(level(red), level(green), level(blue), 255);
}

__global__ void demosaic(const unsigned short *__restrict__ raw, uchar4 *__restrict__ out, int n) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) return;
    out[(size_t)y * n + x] = colour(raw, x, y, n);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64, 30000);
    const size_t count = (size_t)n * n;
    std::vector<unsigned short> raw = quick_bits<unsigned short>(count, 141);
    for (size_t i = 0; i < count; i++) raw[i] &= 4095;
    const unsigned short *d_raw = to_device(raw);
    unsigned char *d_out = device_zeros<unsigned char>(4 * count);

    dim3 threads(32, 8);
    dim3 blocks((n + threads.x - 1) / threads.x, (n + threads.y - 1) / threads.y);
    demosaic<<<blocks, threads>>>(d_raw, (uchar4 *)d_out, n);
    finish_launches();

    const std::vector<unsigned char> out = from_device(d_out, 4 * count);
    return verdict(sampled_error(out, [&](size_t e) {
        const size_t at = e / 4;
        const uchar4 c = colour(raw.data(), (int)(at % n), (int)(at / n), n);
        return (int)(e % 4 == 0 ? c.x : e % 4 == 1 ? c.y : e % 4 == 2 ? c.z : c.w);
    }));
}

// Pixels of four bytes from a video frame of n x n pixels in NV12: a plane of brightness, and one
// with a pair of colour differences for two by two pixels. Whole numbers, as in BT.601.
//
//     nvcc -O2 -o nv12_to_rgba nv12_to_rgba.cu && ./nv12_to_rgba 1000

#include "../host.h"

__host__ __device__ inline unsigned char byte_of(int value) {
    return (unsigned char)(value < 0 ? 0 : value > 255 ? 255 : value);
}

__host__ __device__ inline uchar4 pixel(int luma, uchar2 chroma) {
    const int c = 298 * (luma - 16) + 128, d = chroma.x - 128, e = chroma.y - 128;
    return make_uchar4(byte_of((c + 409 * e) >> 8), byte_of((c - 100 * d - 208 * e) >> 8),
                       byte_of((c + 516 * d) >> 8), 255);
}

__global__ void nv12_to_rgba(const unsigned char *luma, const uchar2 *chroma, uchar4 *rgba,
                             int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int chroma_width = (width + 1) / 2;
    uchar2 uv = chroma[(y / 2) * chroma_width + x / 2];
    rgba[y * width + x] = pixel(luma[y * width + x], uv);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64);
    const int half = (n + 1) / 2;
    const size_t count = (size_t)n * n;
    const std::vector<unsigned char> luma = quick_bits<unsigned char>(count, 1);
    std::vector<uchar2> chroma((size_t)half * half);
    for (size_t e = 0; e < chroma.size(); e++) {
        const uint32_t bits = mixed((uint32_t)e);
        chroma[e] = make_uchar2(bits & 255, bits >> 8 & 255);
    }
    const unsigned char *d_luma = to_device(luma);
    const uchar2 *d_chroma = to_device(chroma);
    uchar4 *d_rgba = device_zeros<uchar4>(count);

    dim3 block(32, 8);
    dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    nv12_to_rgba<<<grid, block>>>(d_luma, d_chroma, d_rgba, n, n);
    finish_launches();

    const std::vector<uchar4> rgba = from_device(d_rgba, count);
    std::vector<int> wrong(1000);
    for (size_t s = 0; s < wrong.size(); s++) {
        const size_t e = count * s / wrong.size(), x = e % n, y = e / n;
        const uchar4 wanted = pixel(luma[e], chroma[y / 2 * half + x / 2]);
        wrong[s] = memcmp(&rgba[e], &wanted, sizeof(wanted)) != 0;
    }
    return verdict(sampled_error(wrong, [](size_t) { return 0; }));
}

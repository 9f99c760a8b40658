// Images: a picture of n x (3n/4 + 1) indices to a palette of 256 colours becomes packed colours
// of three bytes. Rows of indices begin at multiples of 64; one index lets the background through.
//
//     nvcc -O2 -o palette_expand palette_expand.cu && ./palette_expand 500

#include "checked.h"

struct Rgb {
    unsigned char r, g, b;
};

__global__ void expand(const unsigned char *indices, const Rgb *palette, Rgb *picture, int width,
                       int height, int pitch, unsigned char transparent, Rgb background) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
        unsigned char index = indices[y * pitch + x];
        picture[y * width + x] = index == transparent ? background : palette[index];
    }
}

static int as_number(Rgb c) { return c.r << 16 | c.g << 8 | c.b; }

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 40, 25000), height = 3 * n / 4 + 1;
    const int pitch = (n + 63) / 64 * 64;
    const size_t count = (size_t)n * height;
    const std::vector<uint8_t> indices = quick_bits<uint8_t>((size_t)pitch * height, 3061);
    std::vector<Rgb> palette(256);
    for (unsigned i = 0; i < 256; i++) {
        const uint32_t bits = mixed(3062u + i);
        palette[i] = {(uint8_t)bits, (uint8_t)(bits >> 8), (uint8_t)(bits >> 16)};
    }
    const unsigned char *d_indices = to_device(indices);
    const Rgb *d_palette = to_device(palette), background = {32, 64, 128};
    Rgb *d_picture = device_zeros<Rgb>(count);

    const dim3 threads(32, 8);
    const dim3 blocks((n + threads.x - 1) / threads.x, (height + threads.y - 1) / threads.y);
    expand<<<blocks, threads>>>(d_indices, d_palette, d_picture, n, height, pitch, 17, background);
    finish_launches();

    const std::vector<Rgb> picture = from_device(d_picture, count);
    double sum = 0.0;
    for (const Rgb &colour : picture) sum += as_number(colour);
    printf("checksum of picture: %.10g\n", sum);
    return verdict(sampled_wrong(count, [&](size_t e) {
        const uint8_t index = indices[e / n * pitch + e % n];
        return as_number(picture[e]) == as_number(index == 17 ? background : palette[index]);
    }));
}

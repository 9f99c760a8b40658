// Photographs: sepia of an image of n x (3n/4 + 1) pixels of three interleaved bytes.
//
//     nvcc -O2 -o sepia_tone sepia_tone.cu && ./sepia_tone 1600

#include "summed.h"

__global__ void sepia(unsigned char *out, const unsigned char *in, int width, int height) {
    int col = threadIdx.x + blockIdx.x * blockDim.x;
    int row = threadIdx.y + blockIdx.y * blockDim.y;

    if (col < width && row < height) {
        int offset = (row * width + col) * 3;
        float r = in[offset];
        float g = in[offset + 1];
        float b = in[offset + 2];

        float red = 0.393f * r + 0.769f * g + 0.189f * b;
        float green = 0.349f * r + 0.686f * g + 0.168f * b;
        float blue = 0.272f * r + 0.534f * g + 0.131f * b;

        out[offset] = (unsigned char)(red > 255.0f ? 255.0f : red);
        out[offset + 1] = (unsigned char)(green > 255.0f ? 255.0f : green);
        out[offset + 2] = (unsigned char)(blue > 255.0f ? 255.0f : blue);
    }
}

int main(int argc, char **argv) {
    const int width = size_argument(argc, argv, 100, 24000);
    const int height = 3 * width / 4 + 1;
    const size_t bytes = (size_t)width * height * 3;
    const std::vector<uint8_t> image = quick_bits<uint8_t>(bytes, 2201);
    const uint8_t *d_in = to_device(image);
    uint8_t *d_out = device_zeros<uint8_t>(bytes);

    dim3 block(16, 16);
    dim3 grid((width + block.x - 1) / block.x, (height + block.y - 1) / block.y);
    sepia<<<grid, block>>>(d_out, d_in, width, height);
    finish_launches();

    const std::vector<uint8_t> result = from_device(d_out, bytes);
    say_sum("sepia", result);
    // Rounding may decide between one byte and the next.
    const double error = sampled_error(result, [&](size_t e) {
        static const float weights[3][3] = {
            {0.393f, 0.769f, 0.189f}, {0.349f, 0.686f, 0.168f}, {0.272f, 0.534f, 0.131f}};
        const float *w = weights[e % 3];
        const uint8_t *p = &image[e / 3 * 3];
        return (int)fminf(w[0] * p[0] + w[1] * p[1] + w[2] * p[2], 255.0f);
    });
    return verdict(error < 0.005 ? 0.0 : error);
}

// Kuwahara filter of an image n wide of pixels of four bytes: of the four squares of 4 x 4 pixels
// with a corner in the pixel, the mean of the one whose brightness varies least.
//
//     nvcc -O2 -o kuwahara kuwahara.cu && ./kuwahara 1000

#include "../host.h"

#define SIDE 4

__host__ __device__ inline int inside(int at, int n) { return at < 0 ? 0 : at < n ? at : n - 1; }

__host__ __device__ inline uchar4 smoothed(const uchar4 *image, int x, int y, int width,
                                           int height) {
    int least = 0x7fffffff;
    uchar4 best = make_uchar4(0, 0, 0, 255);
    for (int square = 0; square < 4; square++) {
        const int left = square % 2 == 0 ? x - SIDE + 1 : x;
        const int top = square / 2 == 0 ? y - SIDE + 1 : y;
        int red = 0, green = 0, blue = 0, sum = 0, squares = 0;
        for (int r = 0; r < SIDE; r++)
            for (int c = 0; c < SIDE; c++) {
                const uchar4 pixel =
                    image[inside(top + r, height) * width + inside(left + c, width)];
                const int grey = (77 * pixel.x + 150 * pixel.y + 29 * pixel.z) >> 8;
                red += pixel.x;
                green += pixel.y;
                blue += pixel.z;
                sum += grey;
                squares += grey * grey;
            }
        const int variance = SIDE * SIDE * squares - sum * sum;
        if (variance < least) {
            least = variance;
            best.x = (unsigned char)((red + SIDE * SIDE / 2) / (SIDE * SIDE));
            best.y = (unsigned char)((green + SIDE * SIDE / 2) / (SIDE * SIDE));
            best.z = (unsigned char)((blue + SIDE * SIDE / 2) / (SIDE * SIDE));
        }
    }
    return best;
}

__global__ void kuwahara(const uchar4 *__restrict__ image, uchar4 *__restrict__ out, int width,
                         int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) out[y * width + x] = smoothed(image, x, y, width, height);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 48, 20000);
    const int width = n, height = n / 3 * 2 + 1;
    const size_t count = (size_t)width * height;
    const std::vector<unsigned char> image = quick_bits<unsigned char>(4 * count, 1);
    const uchar4 *d_image = (const uchar4 *)to_device(image);
    unsigned char *d_out = device_zeros<unsigned char>(4 * count);

    dim3 block(16, 16);
    dim3 grid((width + block.x - 1) / block.x, (height + block.y - 1) / block.y);
    kuwahara<<<grid, block>>>(d_image, (uchar4 *)d_out, width, height);
    finish_launches();

    return verdict(sampled_error(from_device(d_out, 4 * count), [&](size_t e) {
        const int x = (int)(e / 4 % width), y = (int)(e / 4 / width);
        const uchar4 wanted = smoothed((const uchar4 *)image.data(), x, y, width, height);
        return e % 4 == 0 ? wanted.x : e % 4 == 1 ? wanted.y : e % 4 == 2 ? wanted.z : wanted.w;
    }));
}

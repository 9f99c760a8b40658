// Compression: one level of the whole-number wavelet of 5 and 3 taps on a picture of 2n x 2n
// pixels of three components, 16-bit numbers. First along rows, with a piece of 128 pixels in
// shared memory, then along columns. Low halves come before high halves.
//
//     nvcc -O2 -o lift53 lift53.cu && ./lift53 800

#include "../host.h"

#define PAIRS 64
#define COMPONENTS 3

__global__ void lift_rows(const short *__restrict__ pixels, short *__restrict__ lifted, int n) {
    __shared__ short line[2 * PAIRS + 4];
    const int width = 2 * n;
    const size_t row = ((size_t)blockIdx.z * width + blockIdx.y) * width;
    const int first = 2 * PAIRS * blockIdx.x - 2;
    for (int i = threadIdx.x; i < 2 * PAIRS + 4; i += PAIRS) {
        int x = first + i;
        if (x < 0) x = -x;
        if (x >= width) x = 2 * width - 2 - x;
        line[i] = pixels[row + (x < 0 ? 0 : x)];
    }
    __syncthreads();
    const int pair = PAIRS * blockIdx.x + threadIdx.x;
    if (pair >= n) return;
    const short *even = line + 2 * threadIdx.x + 2;
    const int before = even[-1] - ((even[-2] + even[0]) >> 1);
    const int high = even[1] - ((even[0] + even[2]) >> 1);
    lifted[row + pair] = (short)(even[0] + ((before + high + 2) >> 2));
    lifted[row + n + pair] = (short)high;
}

__global__ void lift_columns(const short *__restrict__ pixels, short *__restrict__ lifted, int n) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int pair = blockIdx.y * blockDim.y + threadIdx.y;
    const int component = blockIdx.z * blockDim.z + threadIdx.z;
    const int width = 2 * n;
    if (x >= width || pair >= n || component >= COMPONENTS) return;
    const short *column = pixels + (size_t)component * width * width + x;
    const int y = 2 * pair;
    // Mirrored at the upper and the lower edge.
    const int above = y > 0 ? y - 1 : 1, twice_above = y > 0 ? y - 2 : 2;
    const int twice_below = y + 2 < width ? y + 2 : y;
    const int even = column[(size_t)y * width];
    const int high = column[(size_t)(y + 1) * width] -
                     ((even + column[(size_t)twice_below * width]) >> 1);
    const int before =
        column[(size_t)above * width] - ((column[(size_t)twice_above * width] + even) >> 1);
    short *result = lifted + (size_t)component * width * width + x;
    result[(size_t)pair * width] = (short)(even + ((before + high + 2) >> 2));
    result[(size_t)(n + pair) * width] = (short)high;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 16, 16000);
    const int width = 2 * n;
    const size_t plane = (size_t)width * width, count = COMPONENTS * plane;
    std::vector<short> pixels = quick_bits<short>(count, 1605);
    for (short &pixel : pixels) pixel &= 1023;
    const short *d_pixels = to_device(pixels);
    short *d_rows = device_zeros<short>(count), *d_lifted = device_zeros<short>(count);

    dim3 row_grid((n + PAIRS - 1) / PAIRS, width, COMPONENTS);
    lift_rows<<<row_grid, PAIRS>>>(d_pixels, d_rows, n);
    dim3 block(32, 8, 1);
    dim3 grid((width + block.x - 1) / block.x, (n + block.y - 1) / block.y,
              (COMPONENTS + block.z - 1) / block.z);
    lift_columns<<<grid, block>>>(d_rows, d_lifted, n);
    finish_launches();

    // One value of a lifted line, out of any five values around it.
    const auto lift = [&](auto value, int place) {
        const auto mirrored = [&](int i) {
            return value(i < 0 ? -i : i >= width ? 2 * width - 2 - i : i);
        };
        const auto high = [&](int i) {
            return mirrored(i) - ((mirrored(i - 1) + mirrored(i + 1)) >> 1);
        };
        if (place >= n) return high(2 * (place - n) + 1);
        return mirrored(2 * place) + ((high(2 * place - 1) + high(2 * place + 1) + 2) >> 2);
    };
    const std::vector<short> lifted = from_device(d_lifted, count);
    return verdict(sampled_error(lifted, [&](size_t e) {
        const size_t component = e / plane;
        const int x = (int)(e % width), y = (int)(e % plane / width);
        const short *all = pixels.data() + component * plane;
        return lift(
            [&](int row) {
                return lift([&](int column) { return (int)all[(size_t)row * width + column]; }, x);
            },
            y);
    }));
}

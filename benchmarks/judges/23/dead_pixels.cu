// Cameras: raw pixels of 16 bits under a Bayer mosaic, n x (2n/3 + 1). A pixel that lies far
// outside its four neighbours of the same colour, which are two away, becomes their mean. The two
// outermost lines are copied.
//
//     nvcc -O2 -o dead_pixels dead_pixels.cu && ./dead_pixels 600

#include "checked.h"

__global__ void mend_pixels(const uint16_t *__restrict__ raw, uint16_t *__restrict__ mended,
                            int width, int height, int tolerance) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const int at = y * width + x;
    int value = raw[at];
    if (x >= 2 && y >= 2 && x < width - 2 && y < height - 2) {
        const int left = raw[at - 2], right = raw[at + 2];
        const int up = raw[at - 2 * width], down = raw[at + 2 * width];
        const int lowest = min(min(left, right), min(up, down));
        const int highest = max(max(left, right), max(up, down));
        if (value > highest + tolerance || value < lowest - tolerance)
            value = (left + right + up + down + 2) >> 2;
    }
    mended[at] = (uint16_t)value;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 40, 24000), height = 2 * n / 3 + 1;
    const size_t count = (size_t)n * height;
    std::vector<uint16_t> raw = quick_bits<uint16_t>(count, 3011);
    // A smooth picture with noise, in which one of sixteen pixels is dead or hot.
    for (size_t i = 0; i < count; i++)
        if (raw[i] % 16 != 5) raw[i] = (uint16_t)(20000 + i % n * 8192 / n + (raw[i] >> 4) % 512);
    const uint16_t *d_raw = to_device(raw);
    uint16_t *d_mended = device_zeros<uint16_t>(count);

    dim3 block(16, 16);
    dim3 grid((n + 15) / 16, (height + 15) / 16);
    mend_pixels<<<grid, block>>>(d_raw, d_mended, n, height, 800);
    finish_launches();

    const std::vector<uint16_t> mended = from_device(d_mended, count);
    say_sum("pixels", mended);
    return verdict(sampled_wrong(count, [&](size_t e) {
        const int x = (int)(e % n), y = (int)(e / n);
        if (x < 2 || y < 2 || x >= n - 2 || y >= height - 2) return mended[e] == raw[e];
        const size_t near[4] = {e - 2, e + 2, e - 2 * (size_t)n, e + 2 * (size_t)n};
        int lowest = 65535, highest = 0, sum = 0;
        for (const size_t i : near) {
            lowest = raw[i] < lowest ? raw[i] : lowest;
            highest = raw[i] > highest ? raw[i] : highest;
            sum += raw[i];
        }
        const bool dead = raw[e] > highest + 800 || raw[e] < lowest - 800;
        return mended[e] == (dead ? (sum + 2) / 4 : raw[e]);
    }));
}

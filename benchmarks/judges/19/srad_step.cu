// Speckle of an n x n image: coefficients of diffusion by the neighbours of each pixel, which a
// block of 16 x 16 threads takes from shared memory, and at its rim from the image.
//
//     nvcc -O2 -o srad_step srad_step.cu && ./srad_step 2048

#include "../host.h"

#define SIDE 16

__global__ void coefficients(const float *image, float *out, int n, float scale) {
    __shared__ float tile[SIDE][SIDE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int column = blockIdx.x * SIDE + tx, row = blockIdx.y * SIDE + ty;
    const int c = min(column, n - 1), r = min(row, n - 1);
    tile[ty][tx] = image[r * n + c];
    __syncthreads();
    if (column < n && row < n) {
        const float own = tile[ty][tx];
        const float north = ty > 0 ? tile[ty - 1][tx] : image[max(r - 1, 0) * n + c];
        const float south = ty < SIDE - 1 ? tile[ty + 1][tx] : image[min(r + 1, n - 1) * n + c];
        const float west = tx > 0 ? tile[ty][tx - 1] : image[r * n + max(c - 1, 0)];
        const float east = tx < SIDE - 1 ? tile[ty][tx + 1] : image[r * n + min(c + 1, n - 1)];
        const float dn = north - own, ds = south - own, dw = west - own, de = east - own;
        const float g2 = (dn * dn + ds * ds + dw * dw + de * de) / (own * own);
        const float l = (dn + ds + dw + de) / own;
        const float den = 1.0f + 0.25f * l;
        const float q = (0.5f * g2 - 0.0625f * (l * l)) / (den * den);
        const float value = 1.0f / (1.0f + (q - scale) / (scale * (1.0f + scale)));
        out[row * n + column] = fminf(fmaxf(value, 0.0f), 1.0f);
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 256, 16384);
    const size_t count = (size_t)n * n;
    std::vector<float> image = quick_values(count, 1905);
    for (float &pixel : image) pixel = 1.0f + 0.2f * pixel;
    const float *d_image = to_device(image);
    float *d_out = device_zeros<float>(count);
    const float scale = 0.053f;

    const dim3 block(SIDE, SIDE), grid((n + SIDE - 1) / SIDE, (n + SIDE - 1) / SIDE);
    coefficients<<<grid, block>>>(d_image, d_out, n, scale);
    finish_launches();

    return verdict(sampled_error(from_device(d_out, count), [&](size_t e) {
        const int row = (int)(e / n), column = (int)(e % n);
        const auto at = [&](int r, int c) {
            r = r < 0 ? 0 : r >= n ? n - 1 : r;
            c = c < 0 ? 0 : c >= n ? n - 1 : c;
            return (double)image[(size_t)r * n + c];
        };
        const double own = at(row, column);
        const double dn = at(row - 1, column) - own, ds = at(row + 1, column) - own;
        const double dw = at(row, column - 1) - own, de = at(row, column + 1) - own;
        const double g2 = (dn * dn + ds * ds + dw * dw + de * de) / (own * own);
        const double l = (dn + ds + dw + de) / own, den = 1.0 + 0.25 * l;
        const double q = (0.5 * g2 - 0.0625 * l * l) / (den * den);
        return fmin(fmax(1.0 / (1.0 + (q - scale) / (scale * (1.0 + scale))), 0.0), 1.0);
    }));
}

// The cosine transform of 8 x 8 pieces of an n x n image, n rounded up: rows, then columns, in
// shared memory, the table of cosines made once per block.
//
//     nvcc -O2 -o cosine_blocks cosine_blocks.cu && ./cosine_blocks 2048

#include "../host.h"

#define SIDE 8

__global__ void transformed(const float *in, float *out, int width) {
    __shared__ float table[SIDE][SIDE], piece[SIDE][SIDE], rows[SIDE][SIDE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const size_t at = ((size_t)blockIdx.y * SIDE + ty) * width + blockIdx.x * SIDE + tx;
    table[ty][tx] = (ty == 0 ? 0.35355339f : 0.5f) * cospif((2 * tx + 1) * ty / 16.0f);
    piece[ty][tx] = in[at];
    __syncthreads();
    float sum = 0.0f;
    for (int k = 0; k < SIDE; k++) sum += piece[ty][k] * table[tx][k];
    rows[ty][tx] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int k = 0; k < SIDE; k++) sum += rows[k][tx] * table[ty][k];
    out[at] = sum;
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 256, 16384);
    const int pieces = (n + SIDE - 1) / SIDE, width = pieces * SIDE;
    const size_t count = (size_t)width * width;
    const std::vector<float> in = quick_values(count, 1924);
    const float *d_in = to_device(in);
    float *d_out = device_zeros<float>(count);

    const dim3 block(SIDE, SIDE), grid(width / SIDE, width / SIDE);
    transformed<<<grid, block>>>(d_in, d_out, width);
    finish_launches();

    return verdict(sampled_error(from_device(d_out, count), [&](size_t e) {
        const size_t row = e / width, column = e % width, v = row % SIDE, u = column % SIDE;
        double sum = 0.0;
        for (size_t y = 0; y < SIDE; y++)
            for (size_t x = 0; x < SIDE; x++)
                sum += in[(row - v + y) * width + column - u + x] *
                       cos((2 * x + 1) * u * M_PI / 16) * cos((2 * y + 1) * v * M_PI / 16);
        return sum * (u ? 0.5 : sqrt(0.125)) * (v ? 0.5 : sqrt(0.125));
    }));
}

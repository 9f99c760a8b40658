// A transpose of an n x (n + 5) matrix, by tiles of 32 x 32 and blocks of 32 x 8 threads.
//
//     nvcc -O2 -o transpose_rows transpose_rows.cu && ./transpose_rows 4096

#include "../host.h"

#define TILE 32
#define ROWS 8

__global__ void transposed(const float *in, float *out, int width, int height) {
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < width && y + j < height)
            tile[threadIdx.y + j][threadIdx.x] = in[(size_t)(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < height && y + j < width)
            out[(size_t)(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 256, 20000);
    const int width = n + 5, height = n;
    const size_t count = (size_t)width * height;
    const std::vector<float> in = quick_values(count, 1910);
    const float *d_in = to_device(in);
    float *d_out = device_zeros<float>(count);

    const dim3 block(TILE, ROWS), grid((width + TILE - 1) / TILE, (height + TILE - 1) / TILE);
    transposed<<<grid, block>>>(d_in, d_out, width, height);
    finish_launches();

    return verdict(sampled_error(from_device(d_out, count), [&](size_t e) {
        return in[e % height * width + e / height];
    }));
}

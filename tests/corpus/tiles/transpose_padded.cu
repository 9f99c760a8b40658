// A matrix transposed through a tile in shared memory whose rows are one longer, so that columns of
// it lie in different banks.
//
//     nvcc -O2 -o transpose_padded transpose_padded.cu && ./transpose_padded 700 500

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#ifndef TILE_DIM
#define TILE_DIM 32
#endif
#ifndef BLOCK_ROWS
#define BLOCK_ROWS 8
#endif
#if TILE_DIM % BLOCK_ROWS != 0
#error "BLOCK_ROWS must divide TILE_DIM"
#endif

#define CHECK(call)                                                                              \
    do {                                                                                         \
        cudaError_t error = (call);                                                              \
        if (error != cudaSuccess) {                                                              \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error));       \
            exit(1);                                                                             \
        }                                                                                        \
    } while (0)

__global__ void transpose(float *out, const float *in, int width, int height) {
    __shared__ float tile[TILE_DIM][TILE_DIM + 1];

    int x = blockIdx.x * TILE_DIM + threadIdx.x;
    int y = blockIdx.y * TILE_DIM + threadIdx.y;
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        if (x < width && y + j < height)
            tile[threadIdx.y + j][threadIdx.x] = in[(size_t)(y + j) * width + x];

    __syncthreads();

    x = blockIdx.y * TILE_DIM + threadIdx.x;
    y = blockIdx.x * TILE_DIM + threadIdx.y;
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        if (x < height && y + j < width)
            out[(size_t)(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

int main(int argc, char **argv) {
    const int width = argc > 1 ? atoi(argv[1]) : 700;
    const int height = argc > 2 ? atoi(argv[2]) : 500;
    const size_t count = (size_t)width * height, bytes = count * sizeof(float);

    std::vector<float> in(count), out(count);
    unsigned state = 12345;
    for (float &value : in) {
        state ^= state << 13, state ^= state >> 17, state ^= state << 5;
        value = (state >> 8) / 16777216.0f;
    }
    float *d_in, *d_out;
    CHECK(cudaMalloc(&d_in, bytes));
    CHECK(cudaMalloc(&d_out, bytes));
    CHECK(cudaMemcpy(d_in, in.data(), bytes, cudaMemcpyHostToDevice));

    dim3 grid((width + TILE_DIM - 1) / TILE_DIM, (height + TILE_DIM - 1) / TILE_DIM);
    dim3 block(TILE_DIM, BLOCK_ROWS);
    transpose<<<grid, block>>>(d_out, d_in, width, height);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out.data(), d_out, bytes, cudaMemcpyDeviceToHost));

    int wrong = 0;
    if (count <= 1 << 20)
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++)
                wrong += out[(size_t)x * height + y] != in[(size_t)y * width + x];
    double checksum = 0.0;
    for (size_t i = 0; i < count; i++) checksum += out[i] * (double)(i % 1009);
    printf("%d x %d, checksum %.9e\n", width, height, checksum);
    printf("%s\n", wrong == 0 ? "PASS" : "FAIL");
    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_out));
    return wrong == 0 ? 0 : 1;
}

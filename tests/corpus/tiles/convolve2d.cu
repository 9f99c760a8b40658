// An image convolved with a filter of 7 x 7, from a tile with its halo in shared memory. A thread
// makes several pixels of a column; beyond the image lies its border.
//
//     nvcc -O2 -o convolve2d convolve2d.cu && ./convolve2d 640 480

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define RADIUS 3
#define DIAMETER (2 * RADIUS + 1)

#ifndef TILE_W
#define TILE_W 32 // pixels of a block, across
#endif
#ifndef TILE_H
#define TILE_H 16 // and down
#endif
#ifndef PER_THREAD
#define PER_THREAD 2 // pixels of a thread; must divide TILE_H
#endif

#define THREADS_Y (TILE_H / PER_THREAD)
#define SHARED_W (TILE_W + 2 * RADIUS)
#define SHARED_H (TILE_H + 2 * RADIUS)

#define CHECK(call)                                                                              \
    do {                                                                                         \
        cudaError_t error = (call);                                                              \
        if (error != cudaSuccess) {                                                              \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error));       \
            exit(1);                                                                             \
        }                                                                                        \
    } while (0)

__constant__ float weights[DIAMETER * DIAMETER];

__global__ void convolve(const float *image, float *result, int width, int height) {
    __shared__ float tile[SHARED_H][SHARED_W];
    const int left = blockIdx.x * TILE_W, top = blockIdx.y * TILE_H;

    for (int y = threadIdx.y; y < SHARED_H; y += THREADS_Y)
        for (int x = threadIdx.x; x < SHARED_W; x += TILE_W) {
            const int from_x = min(max(left + x - RADIUS, 0), width - 1);
            const int from_y = min(max(top + y - RADIUS, 0), height - 1);
            tile[y][x] = image[from_y * width + from_x];
        }
    __syncthreads();

    const int x = left + threadIdx.x;
#pragma unroll
    for (int p = 0; p < PER_THREAD; p++) {
        const int row = threadIdx.y + p * THREADS_Y, y = top + row;
        float sum = 0.0f;
#pragma unroll
        for (int j = 0; j < DIAMETER; j++)
#pragma unroll
            for (int i = 0; i < DIAMETER; i++)
                sum += weights[j * DIAMETER + i] * tile[row + j][threadIdx.x + i];
        if (x < width && y < height) result[y * width + x] = sum;
    }
}

static float reference(const std::vector<float> &image, const float *filter, int width, int height,
                       int x, int y) {
    double sum = 0.0;
    for (int j = -RADIUS; j <= RADIUS; j++)
        for (int i = -RADIUS; i <= RADIUS; i++) {
            const int from_x = std::min(std::max(x + i, 0), width - 1);
            const int from_y = std::min(std::max(y + j, 0), height - 1);
            sum += (double)filter[(j + RADIUS) * DIAMETER + i + RADIUS] * image[from_y * width + from_x];
        }
    return (float)sum;
}

int main(int argc, char **argv) {
    const int width = argc > 1 ? atoi(argv[1]) : 640;
    const int height = argc > 2 ? atoi(argv[2]) : 480;
    const size_t bytes = (size_t)width * height * sizeof(float);

    unsigned state = 2024;
    std::vector<float> image((size_t)width * height), result(image.size());
    for (float &pixel : image) pixel = ((state = state * 69069u + 1u) >> 24) / 255.0f;
    float filter[DIAMETER * DIAMETER];
    for (int j = 0; j < DIAMETER; j++)
        for (int i = 0; i < DIAMETER; i++)
            filter[j * DIAMETER + i] = 1.0f / (4.0f + abs(i - RADIUS) + 2.0f * abs(j - RADIUS));

    float *d_image, *d_result;
    CHECK(cudaMalloc(&d_image, bytes));
    CHECK(cudaMalloc(&d_result, bytes));
    CHECK(cudaMemcpy(d_image, image.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyToSymbol(weights, filter, sizeof(filter)));

    dim3 threads(TILE_W, THREADS_Y);
    dim3 blocks((width + TILE_W - 1) / TILE_W, (height + TILE_H - 1) / TILE_H);
    convolve<<<blocks, threads>>>(d_image, d_result, width, height);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(result.data(), d_result, bytes, cudaMemcpyDeviceToHost));

    int wrong = 0;
    if (image.size() <= 1 << 20)
        for (size_t i = 0; i < image.size(); i += 97) {
            const float expected = reference(image, filter, width, height, i % width, i / width);
            wrong += !(fabsf(result[i] - expected) <= 1e-4f * expected);
        }
    double checksum = 0.0;
    for (size_t i = 0; i < result.size(); i++) checksum += result[i] * (1.0 + i % 13);
    printf("checksum %.6e\n%s\n", checksum, wrong == 0 ? "PASS" : "FAIL");
    CHECK(cudaFree(d_image));
    CHECK(cudaFree(d_result));
    return wrong == 0 ? 0 : 1;
}

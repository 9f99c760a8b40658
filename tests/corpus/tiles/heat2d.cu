// Steps of the heat equation on a plate whose edge keeps its temperature: a block loads its points
// and their neighbours into shared memory, then each thread makes one new point.
//
//     nvcc -O2 -o heat2d heat2d.cu && ./heat2d 500 400 4

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        cudaError_t error = (call);                                                              \
        if (error != cudaSuccess) {                                                              \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error));       \
            exit(1);                                                                             \
        }                                                                                        \
    } while (0)

template <int BX, int BY>
__global__ void heat_step(const float *__restrict__ now, float *__restrict__ next, int nx, int ny,
                          float rate) {
    __shared__ float points[BY + 2][BX + 2];
    const int x = blockIdx.x * BX + threadIdx.x;
    const int y = blockIdx.y * BY + threadIdx.y;
    const int sx = threadIdx.x + 1, sy = threadIdx.y + 1;

    if (x < nx && y < ny) {
        points[sy][sx] = now[(size_t)y * nx + x];
        if (threadIdx.x == 0 && x > 0) points[sy][0] = now[(size_t)y * nx + x - 1];
        if (threadIdx.x == BX - 1 && x + 1 < nx) points[sy][BX + 1] = now[(size_t)y * nx + x + 1];
        if (threadIdx.y == 0 && y > 0) points[0][sx] = now[(size_t)(y - 1) * nx + x];
        if (threadIdx.y == BY - 1 && y + 1 < ny)
            points[BY + 1][sx] = now[(size_t)(y + 1) * nx + x];
    }
    __syncthreads();

    if (x >= nx || y >= ny) return;
    const float here = points[sy][sx];
    float value = here;
    if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1)
        value += rate * (points[sy][sx - 1] + points[sy][sx + 1] + points[sy - 1][sx] +
                         points[sy + 1][sx] - 4.0f * here);
    next[(size_t)y * nx + x] = value;
}

static std::vector<float> on_host(std::vector<float> now, int nx, int ny, int steps, float rate) {
    std::vector<float> next = now;
    for (int step = 0; step < steps; step++, std::swap(now, next))
        for (int y = 1; y < ny - 1; y++)
            for (int x = 1; x < nx - 1; x++) {
                const size_t i = (size_t)y * nx + x;
                next[i] = now[i] + rate * (now[i - 1] + now[i + 1] + now[i - nx] + now[i + nx] -
                                           4.0f * now[i]);
            }
    return now;
}

int main(int argc, char **argv) {
    const int nx = argc > 1 ? atoi(argv[1]) : 500;
    const int ny = argc > 2 ? atoi(argv[2]) : 400;
    const int steps = argc > 3 ? atoi(argv[3]) : 2;
    const float rate = 0.2f;
    const size_t count = (size_t)nx * ny;

    std::vector<float> plate(count), result(count);
    unsigned state = 99;
    for (float &value : plate) {
        state = state * 1103515245u + 12345u;
        value = 20.0f + (float)(state >> 16 & 1023) * 0.0625f;
    }
    float *now, *next;
    CHECK(cudaMalloc(&now, count * sizeof(float)));
    CHECK(cudaMalloc(&next, count * sizeof(float)));
    CHECK(cudaMemcpy(now, plate.data(), count * sizeof(float), cudaMemcpyHostToDevice));

    constexpr int bx = 32, by = 8;
    const dim3 block(bx, by);
    const dim3 grid((nx + bx - 1) / bx, (ny + by - 1) / by);
    for (int step = 0; step < steps; step++) {
        heat_step<bx, by><<<grid, block>>>(now, next, nx, ny, rate);
        std::swap(now, next);
    }
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(result.data(), now, count * sizeof(float), cudaMemcpyDeviceToHost));

    bool right = true;
    if (count * steps <= 1 << 20) {
        const std::vector<float> expected = on_host(plate, nx, ny, steps, rate);
        for (size_t i = 0; i < count; i++)
            right = right && fabsf(result[i] - expected[i]) <= 1e-4f * expected[i];
    }
    double heat = 0.0, weighted = 0.0;
    for (size_t i = 0; i < count; i++) {
        heat += result[i];
        weighted += result[i] * (double)(i % 61);
    }
    printf("heat %.7e %.7e after %d steps\n", heat, weighted, steps);
    printf("%s\n", right ? "PASS" : "FAIL");
    CHECK(cudaFree(now));
    CHECK(cudaFree(next));
    return right ? 0 : 1;
}

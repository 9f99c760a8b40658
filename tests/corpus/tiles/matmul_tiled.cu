// C = A B with square tiles of both matrices in shared memory, as in the CUDA programming guide.
//
//     nvcc -O2 -o matmul_tiled matmul_tiled.cu && ./matmul_tiled 300 200 250

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#ifndef TILE
#define TILE 16
#endif

#define CHECK(call)                                                                              \
    do {                                                                                         \
        cudaError_t error = (call);                                                              \
        if (error != cudaSuccess) {                                                              \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error));       \
            exit(1);                                                                             \
        }                                                                                        \
    } while (0)

__global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k) {
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty;
    const int column = blockIdx.x * TILE + tx;
    float sum = 0.0f;
    for (int t = 0; t < (k + TILE - 1) / TILE; t++) {
        const int ka = t * TILE + tx, kb = t * TILE + ty;
        tile_a[ty][tx] = row < m && ka < k ? a[row * k + ka] : 0.0f;
        tile_b[ty][tx] = kb < k && column < n ? b[kb * n + column] : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; i++) sum += tile_a[ty][i] * tile_b[i][tx];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}

static void fill(std::vector<float> &values, unsigned state) {
    for (float &value : values) {
        state = state * 1664525u + 1013904223u;
        value = (state >> 8) / 16777216.0f;
    }
}

int main(int argc, char **argv) {
    const int m = argc > 1 ? atoi(argv[1]) : 300;
    const int n = argc > 2 ? atoi(argv[2]) : 200;
    const int k = argc > 3 ? atoi(argv[3]) : 250;

    std::vector<float> a((size_t)m * k), b((size_t)k * n), c((size_t)m * n);
    fill(a, 1);
    fill(b, 2);
    float *d_a, *d_b, *d_c;
    CHECK(cudaMalloc(&d_a, a.size() * sizeof(float)));
    CHECK(cudaMalloc(&d_b, b.size() * sizeof(float)));
    CHECK(cudaMalloc(&d_c, c.size() * sizeof(float)));
    CHECK(cudaMemcpy(d_a, a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_b, b.data(), b.size() * sizeof(float), cudaMemcpyHostToDevice));

    dim3 block(TILE, TILE);
    dim3 grid((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
    matmul<<<grid, block>>>(d_a, d_b, d_c, m, n, k);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(c.data(), d_c, c.size() * sizeof(float), cudaMemcpyDeviceToHost));

    bool right = true;
    if ((double)m * n * k < 1e8) {
        for (int s = 0; s < 500; s++) {
            const int i = s * 7919 % m, j = s * 104729 % n;
            double expected = 0.0;
            for (int l = 0; l < k; l++) expected += (double)a[i * k + l] * b[l * n + j];
            right = right && fabs(c[i * n + j] - expected) <= 1e-4 * expected;
        }
    }
    double sum = 0.0, weighted = 0.0;
    for (size_t i = 0; i < c.size(); i++) {
        sum += c[i];
        weighted += c[i] * (double)(i % 101);
    }
    printf("checksum %.6e %.6e\n", sum, weighted);
    printf("%s\n", right ? "PASS" : "FAIL");
    CHECK(cudaFree(d_a));
    CHECK(cudaFree(d_b));
    CHECK(cudaFree(d_c));
    return right ? 0 : 1;
}

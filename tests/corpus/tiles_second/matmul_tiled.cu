/*
 * matmul_tiled.cu - C = A * B with square shared-memory tiles,
 * one thread computes one element of C.
 *
 *   usage: matmul_tiled [M [N [K]]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define TILE 16

#define CUDA_CHECK(call)                                                   \
    do {                                                                   \
        cudaError_t err_ = (call);                                         \
        if (err_ != cudaSuccess) {                                         \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,             \
                    cudaGetErrorString(err_));                             \
            exit(1);                                                       \
        }                                                                  \
    } while (0)

__global__ void matmul(const float *A, const float *B, float *C,
                       int M, int N, int K)
{
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;

    float acc = 0.0f;

    for (int t = 0; t < (K + TILE - 1) / TILE; ++t) {
        int ka = t * TILE + tx;
        int kb = t * TILE + ty;

        As[ty][tx] = (row < M && ka < K) ? A[row * K + ka] : 0.0f;
        Bs[ty][tx] = (kb < K && col < N) ? B[kb * N + col] : 0.0f;
        __syncthreads();

#pragma unroll
        for (int k = 0; k < TILE; ++k)
            acc += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }

    if (row < M && col < N)
        C[row * N + col] = acc;
}

static unsigned int seed = 12345u;

static float next_value(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (float)((seed >> 9) & 0x3ff) / 1024.0f - 0.5f;
}

int main(int argc, char **argv)
{
    int M = argc > 1 ? atoi(argv[1]) : 1024;
    int N = argc > 2 ? atoi(argv[2]) : M;
    int K = argc > 3 ? atoi(argv[3]) : M;

    size_t bytesA = (size_t)M * K * sizeof(float);
    size_t bytesB = (size_t)K * N * sizeof(float);
    size_t bytesC = (size_t)M * N * sizeof(float);

    float *hA = (float *)malloc(bytesA);
    float *hB = (float *)malloc(bytesB);
    float *hC = (float *)malloc(bytesC);
    for (int i = 0; i < M * K; ++i) hA[i] = next_value();
    for (int i = 0; i < K * N; ++i) hB[i] = next_value();

    float *dA, *dB, *dC;
    CUDA_CHECK(cudaMalloc((void **)&dA, bytesA));
    CUDA_CHECK(cudaMalloc((void **)&dB, bytesB));
    CUDA_CHECK(cudaMalloc((void **)&dC, bytesC));
    CUDA_CHECK(cudaMemcpy(dA, hA, bytesA, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(dB, hB, bytesB, cudaMemcpyHostToDevice));

    dim3 threads(TILE, TILE);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    matmul<<<grid, threads>>>(dA, dB, dC, M, N, K);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());

    CUDA_CHECK(cudaMemcpy(hC, dC, bytesC, cudaMemcpyDeviceToHost));

    /* check about 2000 elements, always including the last one */
    long total = (long)M * N;
    long step = total / 2000 + 1;
    int bad = 0;
    for (long e = total - 1; e >= 0; e -= step) {
        int r = (int)(e / N), c = (int)(e % N);
        double ref = 0.0;
        for (int k = 0; k < K; ++k)
            ref += (double)hA[(size_t)r * K + k] * hB[(size_t)k * N + c];
        if (fabs(ref - hC[e]) > 1e-3 + 1e-4 * fabs(ref)) {
            if (bad++ < 5)
                printf("C[%d][%d] = %f, expected %f\n", r, c, hC[e], ref);
        }
    }

    double sum = 0.0;
    for (long e = 0; e < total; ++e) sum += hC[e];
    printf("checksum %.6f\n", sum);
    printf("%s\n", bad ? "FAIL" : "PASS");

    CUDA_CHECK(cudaFree(dA));
    CUDA_CHECK(cudaFree(dB));
    CUDA_CHECK(cudaFree(dC));
    free(hA);
    free(hB);
    free(hC);
    return bad ? 1 : 0;
}

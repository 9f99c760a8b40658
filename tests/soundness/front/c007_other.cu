#include "front.h"
__device__ float factor = 2.0f;
__device__ float shifted(float x) { return x + 1.0f; }
static __global__ void scale(float *y, float a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += a; }
void further(float *y, int n) {
    constexpr int threads = 128;
    scale<<<(n + threads - 1) / threads, threads>>>(y, 3.0f, n);
}

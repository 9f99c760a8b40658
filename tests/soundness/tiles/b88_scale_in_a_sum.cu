// EXPECT: keep
// WHY: below zero the scale, which is added to tiny data, makes the size of the tile count
// SIZES: 100,1000,5001
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

constexpr int TILE = 128;

__global__ void shifted(const float *x, float *out, int n, float scale) {
  __shared__ float s[TILE];
  const int i = blockIdx.x * TILE + threadIdx.x;
  s[threadIdx.x] = i < n ? x[i] : 0.0f;
  __syncthreads();
  const float moved = s[threadIdx.x] * scale * 1e-6f + scale;
  if (i < n) out[i] = s[threadIdx.x] + (fabsf(moved) - moved) * TILE;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1000;
  std::vector<float> x(n);
  for (int i = 0; i < n; ++i) x[i] = i * 37 % 101 * 0.125f;
  float *values, *out;
  cudaMalloc(&values, n * sizeof(float));
  cudaMalloc(&out, n * sizeof(float));
  cudaMemcpy(values, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  shifted<<<(n + TILE - 1) / TILE, TILE>>>(values, out, n, -1.5f);
  cudaMemcpy(x.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost);
  double sum = 0.0;
  for (float one : x) sum += one;
  printf("%.6f\n", sum);
}

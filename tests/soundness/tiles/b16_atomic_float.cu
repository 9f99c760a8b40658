// EXPECT: keep
// WHY: each block adds a float to the total: other blocks round at other places
// SIZES: 64,200,1000,3001
// NAIVE: BLOCK in total: 256 differs at 1000
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define BLOCK 64

__global__ void total(const float *values, int n, float *sum) {
  __shared__ float part;
  if (threadIdx.x == 0)
    part = 0.f;
  __syncthreads();
  int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n)
    atomicAdd(&part, values[i]);
  __syncthreads();
  if (threadIdx.x == 0)
    atomicAdd(sum, part);
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1000;
  std::vector<float> values(n);
  for (int i = 0; i < n; ++i)
    values[i] = 1.f / (1 + i % 97) + (i % 31) * 1000.1f;
  float *d_values, *d_sum, sum = 0.f;
  cudaMalloc(&d_values, n * sizeof(float));
  cudaMalloc(&d_sum, sizeof(float));
  cudaMemcpy(d_values, values.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemset(d_sum, 0, sizeof(float));
  total<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(d_values, n, d_sum);
  cudaMemcpy(&sum, d_sum, sizeof(float), cudaMemcpyDeviceToHost);
  unsigned bits;
  static_assert(sizeof bits == sizeof sum, "a float has 32 bits");
  __builtin_memcpy(&bits, &sum, sizeof bits);
  printf("%.9g (%08x)\n", sum, bits);
  cudaFree(d_values);
  cudaFree(d_sum);
  return 0;
}

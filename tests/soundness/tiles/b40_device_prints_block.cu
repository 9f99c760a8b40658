// EXPECT: keep
// WHY: the kernel reports its own configuration: the tile in a number, the block in what it prints
// SIZES: 32,64,100,257
// NAIVE: BLOCK in diagnose: 64 differs at 100
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define BLOCK 32

__global__ void diagnose(const int *values, int n, int *worst) {
  __shared__ int line[BLOCK];
  int i = blockIdx.x * BLOCK + threadIdx.x;
  line[threadIdx.x] = i < n ? values[i] : 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    int largest = 0;
    for (int t = 0; t < BLOCK; ++t)
      largest = max(largest, line[t]);
    if (largest > 90)
      printf("block %u of %u (%u threads): %d\n", blockIdx.x, gridDim.x, blockDim.x, largest);
    atomicMax(worst, largest);
  }
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 100;
  int *values, *worst;
  cudaMallocManaged(&values, n * sizeof(int));
  cudaMallocManaged(&worst, sizeof(int));
  for (int i = 0; i < n; ++i)
    values[i] = i % 37 == 0 ? 91 + i % 5 : i % 60;
  *worst = 0;
  diagnose<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(values, n, worst);
  cudaDeviceSynchronize();
  printf("worst %d\n", *worst);
  cudaFree(values);
  cudaFree(worst);
  return 0;
}

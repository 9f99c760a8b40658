// EXPECT: keep
// WHY: the second kernel computes how many partial results there are from the macro itself
// SIZES: 128,300,1000,2049
// NAIVE: BLOCK in block_minimum: 64 differs at 1000
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define BLOCK 128
#define BLOCKS_FOR(n) (((n) + BLOCK - 1) / BLOCK)

__global__ void block_minimum(const int *values, int n, int2 *partials) {
  __shared__ int lowest[BLOCK];
  int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
  lowest[t] = i < n ? values[i] : INT_MAX;
  __syncthreads();
  for (int s = BLOCK / 2; s > 0; s >>= 1) {
    if (t < s)
      lowest[t] = min(lowest[t], lowest[t + s]);
    __syncthreads();
  }
  if (t == 0)
    partials[blockIdx.x] = make_int2(lowest[0], 1);
}

__global__ void finish(const int2 *partials, int n, int *result) {
  int lowest = INT_MAX, parts = 0;
  for (int b = 0; b < BLOCKS_FOR(n); ++b) {
    lowest = min(lowest, partials[b].x);
    parts += partials[b].y;
  }
  result[0] = lowest;
  result[1] = parts;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1000;
  int *values, *result;
  int2 *partials;
  cudaMallocManaged(&values, n * sizeof(int));
  cudaMallocManaged(&result, 2 * sizeof(int));
  cudaMallocManaged(&partials, n * sizeof(int2));
  for (int i = 0; i < n; ++i) {
    values[i] = 100000 - i * 3 + (i % 7) * 5;
    partials[i] = make_int2(INT_MAX, 0);
  }
  block_minimum<<<BLOCKS_FOR(n), BLOCK>>>(values, n, partials);
  finish<<<1, 1>>>(partials, n, result);
  cudaDeviceSynchronize();
  printf("minimum %d in %d parts\n", result[0], result[1]);
  cudaFree(values);
  cudaFree(partials);
  cudaFree(result);
  return 0;
}

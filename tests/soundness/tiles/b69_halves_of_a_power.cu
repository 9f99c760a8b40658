// EXPECT: tile
// WHY: other powers of two are right; 96 has halves that leave a third out (48, 24, 12, 6, 3, 1)
// SIZES: 100,256,1000,2000
// NAIVE: BLOCK in sum_all: 96 differs at 1000
// NAIVE: BLOCK in sum_all: 64, 256 same
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define BLOCK 128

__global__ void sum_all(const int *in, int n, int *sum) {
  __shared__ int part[BLOCK];
  int t = threadIdx.x, mine = 0;
  for (int i = blockIdx.x * BLOCK + t; i < n; i += gridDim.x * BLOCK)
    mine += in[i];
  part[t] = mine;
  __syncthreads();
  for (int half = BLOCK / 2; half > 0; half /= 2) {
    if (t < half)
      part[t] += part[t + half];
    __syncthreads();
  }
  if (t == 0)
    atomicAdd(sum, part[0]);
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1000;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i)
    values[i] = (i * 59) % 100 - 30;
  int *in, *d_sum, sum = 0, expected = 0;
  cudaMalloc(&in, n * sizeof(int));
  cudaMalloc(&d_sum, sizeof(int));
  cudaMemset(d_sum, 0, sizeof(int));
  cudaMemcpy(in, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  sum_all<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(in, n, d_sum);
  cudaMemcpy(&sum, d_sum, sizeof(int), cudaMemcpyDeviceToHost);
  for (int value : values)
    expected += value;
  printf("%d, expected %d\n", sum, expected);
  cudaFree(in);
  cudaFree(d_sum);
  return 0;
}

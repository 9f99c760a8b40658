// EXPECT: some
// WHY: the last 64 sums are added by one warp through a volatile pointer, written out for 64 threads or more
// SIZES: 64,128,500,1000
// NAIVE: BLOCK in reduce: 32 differs at 500
// NAIVE: BLOCK in reduce: 64, 256 same
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define BLOCK 128

__device__ void last_warp(volatile int *s, int t) {
  s[t] += s[t + 32]; __syncwarp();
  s[t] += s[t + 16]; __syncwarp();
  s[t] += s[t + 8]; __syncwarp();
  s[t] += s[t + 4]; __syncwarp();
  s[t] += s[t + 2]; __syncwarp();
  s[t] += s[t + 1];
}

__global__ void reduce(const int *in, int n, int *sum) {
  __shared__ int s[BLOCK + 32];
  int t = threadIdx.x, mine = 0;
  for (int i = blockIdx.x * BLOCK + t; i < n; i += gridDim.x * BLOCK)
    mine += in[i];
  s[t] = mine;
  if (t < 32)
    s[BLOCK + t] = in[t];
  __syncthreads();
  for (int half = BLOCK / 2; half > 32; half /= 2) {
    if (t < half)
      s[t] += s[t + half];
    __syncthreads();
  }
  if (t < 32)
    last_warp(s, t);
  if (t == 0)
    atomicAdd(sum, s[0]);
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 500;
  std::vector<int> values(n < 32 ? 32 : n);
  for (int i = 0; i < n; ++i)
    values[i] = i % 23 - 4;
  int *in, *d_sum, sum = 0;
  cudaMalloc(&in, values.size() * sizeof(int));
  cudaMalloc(&d_sum, sizeof(int));
  cudaMemcpy(in, values.data(), values.size() * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(d_sum, 0, sizeof(int));
  reduce<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(in, n, d_sum);
  cudaMemcpy(&sum, d_sum, sizeof(int), cudaMemcpyDeviceToHost);
  printf("%d values, sum %d\n", n, sum);
  cudaFree(in);
  cudaFree(d_sum);
  return 0;
}

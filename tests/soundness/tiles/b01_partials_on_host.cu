// EXPECT: keep
// WHY: the host allocates and adds n / BLOCK partial sums: with smaller blocks too few, with larger ones stale ones
// SIZES: 256,500,1000,1777
// NAIVE: BLOCK in sum_blocks: 128 differs at 500
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define BLOCK 256

__global__ void sum_blocks(const int *values, int n, int *partials) {
  __shared__ int part[BLOCK];
  int i = blockIdx.x * BLOCK + threadIdx.x;
  part[threadIdx.x] = i < n ? values[i] : 0;
  __syncthreads();
  for (int half = BLOCK / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    partials[blockIdx.x] = part[0];
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1000;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i)
    values[i] = i % 101 - 17;
  const int count = (n + BLOCK - 1) / BLOCK;
  int *d_values, *d_partials;
  cudaMalloc(&d_values, n * sizeof(int));
  cudaMalloc(&d_partials, count * sizeof(int));
  cudaMemcpy(d_values, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  sum_blocks<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(d_values, n, d_partials);
  std::vector<int> partials(count);
  cudaMemcpy(partials.data(), d_partials, count * sizeof(int), cudaMemcpyDeviceToHost);
  long long sum = 0;
  for (int p : partials)
    sum += p;
  printf("sum of %d values: %lld\n", n, sum);
  cudaFree(d_values);
  cudaFree(d_partials);
  return 0;
}

// EXPECT: keep
// WHY: the sum begins at half of the block that is written, and grid and block are numbers
// SIZES: 100,1000,20000
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

__global__ void partial_sums(int n, const int *x, int *part) {
  __shared__ int s[128];
  int sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    sum += x[i];
  s[threadIdx.x] = sum;
  __syncthreads();
  for (int k = 64; k; k /= 2) {
    if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
    __syncthreads();
  }
  if (!threadIdx.x) part[blockIdx.x] = s[0];
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1000;
  std::vector<int> x(n), part(64);
  for (int i = 0; i < n; ++i) x[i] = i * 37 % 101;
  int *values, *sums;
  cudaMalloc(&values, n * sizeof(int));
  cudaMalloc(&sums, 64 * sizeof(int));
  cudaMemcpy(values, x.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  partial_sums<<<64, 128>>>(n, values, sums);
  cudaMemcpy(part.data(), sums, 64 * sizeof(int), cudaMemcpyDeviceToHost);
  long total = 0;
  for (int one : part) total += one;
  printf("%ld\n", total);
}

// EXPECT: keep
// WHY: the block is a host function's argument, TILE by default; another call passes 16, for which the kernel's TILE of 32 is enough
// SIZES: 32,75,200,512
// NAIVE: TILE in soften: 8 differs at 75
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 32

__global__ void soften(const int *in, int *out, int n) {
  __shared__ int line[TILE];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  line[threadIdx.x % TILE] = i < n ? in[i] : 0;
  __syncthreads();
  if (i < n)
    out[i] = (line[threadIdx.x % TILE] + line[(threadIdx.x ^ 8) % TILE]) / 2;
}

static void apply(const int *in, int *out, int n, int block = TILE) {
  soften<<<(n + block - 1) / block, block>>>(in, out, n);
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 200;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i)
    values[i] = (i * 45) % 403;
  int *a, *b;
  cudaMalloc(&a, n * sizeof(int));
  cudaMalloc(&b, n * sizeof(int));
  cudaMemcpy(a, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  apply(a, b, n);
  apply(b, a, n, 16);
  apply(a, b, n);
  cudaMemcpy(values.data(), b, n * sizeof(int), cudaMemcpyDeviceToHost);
  long sum = 0;
  for (int i = 0; i < n; ++i)
    sum += (long)values[i] * (i % 23);
  printf("%d: %d %d %ld\n", n, values[0], values[n - 1], sum);
  cudaFree(a);
  cudaFree(b);
  return 0;
}

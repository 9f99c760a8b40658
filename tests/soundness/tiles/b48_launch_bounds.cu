// EXPECT: some
// WHY: __launch_bounds__(256) is a promise about tiles of 16: larger ones do not start
// SIZES: 16,50,64,99
// NAIVE: TILE in multiply: 32 differs at 50
// NAIVE: TILE in multiply: 8 same
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 16

__global__ void __launch_bounds__(256, 4) multiply(const int *a, const int *b, int *c, int n) {
  __shared__ int as[TILE][TILE], bs[TILE][TILE];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx, sum = 0;
  for (int k0 = 0; k0 < n; k0 += TILE) {
    as[ty][tx] = row < n && k0 + tx < n ? a[row * n + k0 + tx] : 0;
    bs[ty][tx] = col < n && k0 + ty < n ? b[(k0 + ty) * n + col] : 0;
    __syncthreads();
    for (int k = 0; k < TILE; ++k)
      sum += as[ty][k] * bs[k][tx];
    __syncthreads();
  }
  if (row < n && col < n)
    c[row * n + col] = sum;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 64;
  const size_t bytes = n * n * sizeof(int);
  std::vector<int> a(n * n), c(n * n);
  for (int i = 0; i < n * n; ++i)
    a[i] = (i * 3) % 16 - 8;
  int *da, *dc;
  cudaMalloc(&da, bytes);
  cudaMalloc(&dc, bytes);
  cudaMemset(dc, 0, bytes);
  cudaMemcpy(da, a.data(), bytes, cudaMemcpyHostToDevice);
  dim3 grid((n + TILE - 1) / TILE, (n + TILE - 1) / TILE), block(TILE, TILE);
  multiply<<<grid, block>>>(da, da, dc, n);
  printf("%s\n", cudaGetErrorName(cudaGetLastError()));
  cudaMemcpy(c.data(), dc, bytes, cudaMemcpyDeviceToHost);
  long sum = 0;
  for (int i = 0; i < n * n; ++i)
    sum += (long)c[i] * (i % 33);
  printf("square of %d: %d %ld\n", n, c[0], sum);
  cudaFree(da);
  cudaFree(dc);
  return 0;
}

// EXPECT: keep
// WHY: the loop takes n / TILE whole steps and forgets the rest of k: how much that is depends on the tile
// SIZES: 32,50,64,90
// NAIVE: TILE in correlate: 8 differs at 90
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 16

__global__ void correlate(const int *a, const int *b, int *c, int n) {
  __shared__ int as[TILE][TILE], bs[TILE][TILE];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx, sum = 0;
  for (int step = 0; step < n / TILE; ++step) {
    as[ty][tx] = row < n ? a[row * n + step * TILE + tx] : 0;
    bs[ty][tx] = col < n ? b[(step * TILE + ty) * n + col] : 0;
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
  std::vector<int> a(n * n), b(n * n), c(n * n);
  for (int i = 0; i < n * n; ++i) {
    a[i] = i % 10 + 1;
    b[i] = i % 12 - 3;
  }
  int *da, *db, *dc;
  cudaMalloc(&da, bytes);
  cudaMalloc(&db, bytes);
  cudaMalloc(&dc, bytes);
  cudaMemcpy(da, a.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(db, b.data(), bytes, cudaMemcpyHostToDevice);
  dim3 grid((n + TILE - 1) / TILE, (n + TILE - 1) / TILE);
  correlate<<<grid, dim3(TILE, TILE)>>>(da, db, dc, n);
  cudaMemcpy(c.data(), dc, bytes, cudaMemcpyDeviceToHost);
  long sum = 0;
  for (int i = 0; i < n * n; ++i)
    sum += (long)c[i] * (i % 4 + 1);
  printf("%d: %d %d %ld\n", n, c[0], c[n * n - 1], sum);
  return 0;
}

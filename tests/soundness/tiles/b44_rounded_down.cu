// EXPECT: some
// WHY: n is cut to a multiple of 16 by the host before all else; larger tiles do not cover it, the grid is n / TILE
// SIZES: 16,60,112,200
// NAIVE: TILE in add: 32 differs at 60
// NAIVE: TILE in add: 8 same
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

const int TILE = 16;

__global__ void add(const int *a, const int *b, int *c, int n) {
  __shared__ int as[TILE][TILE];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  as[threadIdx.y][threadIdx.x] = a[y * n + x];
  __syncthreads();
  c[y * n + x] = as[threadIdx.y][threadIdx.x] * 2 + b[y * n + x];
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 112;
  n -= n % 16;
  const size_t bytes = n * n * sizeof(int);
  std::vector<int> a(n * n), b(n * n), c(n * n);
  for (int i = 0; i < n * n; ++i) {
    a[i] = i % 127;
    b[i] = i % 63;
  }
  int *da, *db, *dc;
  cudaMalloc(&da, bytes);
  cudaMalloc(&db, bytes);
  cudaMalloc(&dc, bytes);
  cudaMemset(dc, 0, bytes);
  cudaMemcpy(da, a.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(db, b.data(), bytes, cudaMemcpyHostToDevice);
  dim3 block(TILE, TILE);
  dim3 grid(n / TILE, n / TILE);
  add<<<grid, block>>>(da, db, dc, n);
  cudaMemcpy(c.data(), dc, bytes, cudaMemcpyDeviceToHost);
  long sum = 0;
  int zeros = 0;
  for (int i = 0; i < n * n; ++i) {
    sum += c[i];
    zeros += c[i] == 0;
  }
  printf("n %d: %d zeros, sum %ld\n", n, zeros, sum);
  return 0;
}

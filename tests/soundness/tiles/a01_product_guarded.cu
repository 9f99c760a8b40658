// EXPECT: tile
// WHY: control: each load and store is guarded and the sums are integers
// SIZES: 16,37,64,101
// NAIVE: TILE in multiply: 4, 8, 32 same
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 16

__global__ void multiply(const int *a, const int *b, int *c, int n) {
  __shared__ int as[TILE][TILE];
  __shared__ int bs[TILE][TILE];
  int row = blockIdx.y * TILE + threadIdx.y;
  int col = blockIdx.x * TILE + threadIdx.x;
  int sum = 0;
  for (int t = 0; t < (n + TILE - 1) / TILE; ++t) {
    int ka = t * TILE + threadIdx.x;
    int kb = t * TILE + threadIdx.y;
    as[threadIdx.y][threadIdx.x] = row < n && ka < n ? a[row * n + ka] : 0;
    bs[threadIdx.y][threadIdx.x] = kb < n && col < n ? b[kb * n + col] : 0;
    __syncthreads();
    for (int k = 0; k < TILE; ++k)
      sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
    __syncthreads();
  }
  if (row < n && col < n)
    c[row * n + col] = sum;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 100;
  const size_t bytes = size_t(n) * n * sizeof(int);
  std::vector<int> a(n * n), b(n * n), c(n * n);
  for (int i = 0; i < n * n; ++i) {
    a[i] = i * 7 % 23 - 11;
    b[i] = i * 5 % 19 - 9;
  }
  int *da, *db, *dc;
  cudaMalloc(&da, bytes);
  cudaMalloc(&db, bytes);
  cudaMalloc(&dc, bytes);
  cudaMemcpy(da, a.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(db, b.data(), bytes, cudaMemcpyHostToDevice);
  dim3 block(TILE, TILE);
  dim3 grid((n + TILE - 1) / TILE, (n + TILE - 1) / TILE);
  multiply<<<grid, block>>>(da, db, dc, n);
  cudaMemcpy(c.data(), dc, bytes, cudaMemcpyDeviceToHost);
  unsigned sum = 0;
  for (int value : c)
    sum = sum * 31u + unsigned(value);
  printf("n %d, corner %d, checksum %08x\n", n, c[n * n - 1], sum);
  cudaFree(da);
  cudaFree(db);
  cudaFree(dc);
  return 0;
}

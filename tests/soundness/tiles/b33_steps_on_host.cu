// EXPECT: keep
// WHY: the loop over tiles of k is on the host, by steps of TILE, with a launch for each
// SIZES: 16,40,64,90
// NAIVE: TILE in add_step: 8 differs at 40
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 16

__global__ void add_step(const int *a, const int *b, int *c, int n, int k0) {
  __shared__ int as[TILE][TILE], bs[TILE][TILE];
  int tx = threadIdx.x, ty = threadIdx.y;
  int col = blockIdx.x * TILE + tx, row = blockIdx.y * TILE + ty;
  as[ty][tx] = row < n && k0 + tx < n ? a[row * n + k0 + tx] : 0;
  bs[ty][tx] = col < n && k0 + ty < n ? b[(k0 + ty) * n + col] : 0;
  __syncthreads();
  int sum = 0;
  for (int k = 0; k < TILE; ++k)
    sum += as[ty][k] * bs[k][tx];
  if (row < n && col < n)
    c[row * n + col] += sum;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 64;
  const size_t bytes = n * n * sizeof(int);
  std::vector<int> a(n * n), b(n * n), c(n * n);
  for (int i = 0; i < n * n; ++i) {
    a[i] = i % 5 - 2;
    b[i] = i % 7 - 3;
  }
  int *da, *db, *dc;
  cudaMalloc(&da, bytes);
  cudaMalloc(&db, bytes);
  cudaMalloc(&dc, bytes);
  cudaMemcpy(da, a.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(db, b.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemset(dc, 0, bytes);
  dim3 block(TILE, TILE);
  dim3 grid((n + TILE - 1) / TILE, (n + TILE - 1) / TILE);
  for (int k0 = 0; k0 < n; k0 += TILE)
    add_step<<<grid, block>>>(da, db, dc, n, k0);
  cudaMemcpy(c.data(), dc, bytes, cudaMemcpyDeviceToHost);
  long long sum = 0;
  for (int i = 0; i < n * n; ++i)
    sum += (long long)c[i] * (i % 101);
  printf("%d: %d %lld\n", n, c[n * n / 2], sum);
  return 0;
}

// EXPECT: keep
// WHY: 64 threads hold 4 x 4 results each of a tile of 32 x 32; the side of the tile is tied to both literals
// SIZES: 32,50,64,100
// NAIVE: SIDE in gemm: 16 differs at 50
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define SIDE 32
#define DEPTH 8
#define EACH 4

__global__ void gemm(const int *a, const int *b, int *c, int n) {
  __shared__ int as[SIDE][DEPTH], bs[DEPTH][SIDE];
  int t = threadIdx.x, top = blockIdx.y * SIDE, left = blockIdx.x * SIDE;
  int y0 = t / 8 * EACH, x0 = t % 8 * EACH;
  int sums[EACH][EACH] = {};
  for (int k0 = 0; k0 < n; k0 += DEPTH) {
    for (int e = t; e < SIDE * DEPTH; e += 64) {
      int y = top + e / DEPTH, k = k0 + e % DEPTH, x = left + e % SIDE, kb = k0 + e / SIDE;
      as[e / DEPTH][e % DEPTH] = y < n && k < n ? a[y * n + k] : 0;
      bs[e / SIDE][e % SIDE] = x < n && kb < n ? b[kb * n + x] : 0;
    }
    __syncthreads();
    for (int k = 0; k < DEPTH; ++k)
      for (int y = 0; y < EACH; ++y)
        for (int x = 0; x < EACH; ++x)
          sums[y][x] += as[(y0 + y) % SIDE][k] * bs[k][(x0 + x) % SIDE];
    __syncthreads();
  }
  for (int y = 0; y < EACH; ++y)
    for (int x = 0; x < EACH; ++x)
      if (top + y0 + y < n && left + x0 + x < n)
        atomicAdd(&c[(top + y0 + y) * n + left + x0 + x], sums[y][x]);
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 64;
  const size_t bytes = n * n * sizeof(int);
  std::vector<int> a(n * n), c(n * n);
  for (int i = 0; i < n * n; ++i)
    a[i] = (i * 5) % 18 - 8;
  int *da, *dc;
  cudaMalloc(&da, bytes);
  cudaMalloc(&dc, bytes);
  cudaMemset(dc, 0, bytes);
  cudaMemcpy(da, a.data(), bytes, cudaMemcpyHostToDevice);
  dim3 grid((n + SIDE - 1) / SIDE, (n + SIDE - 1) / SIDE);
  gemm<<<grid, 2 * SIDE>>>(da, da, dc, n);
  cudaMemcpy(c.data(), dc, bytes, cudaMemcpyDeviceToHost);
  long sum = 0;
  for (int i = 0; i < n * n; ++i)
    sum += (long)c[i] * (i % 8 + 1);
  printf("%d: %d %d %ld\n", n, c[0], c[n * n - 1], sum);
  return 0;
}

// EXPECT: tile
// WHY: control: launch bounds that follow the tile, an integer product with the tile's places in one array
// SIZES: 16,41,64,90
// NAIVE: T in multiply: 4, 8, 32 same
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define T 16
#define AT(y, x) ((y) * T + (x))

__global__ void __launch_bounds__(T * T) multiply(const int *a, const int *b, int *c, int n) {
  __shared__ int as[T * T], bs[T * T];
  const int tx = threadIdx.x, ty = threadIdx.y, col = blockIdx.x * T + tx, row = blockIdx.y * T + ty;
  int sum = 0;
  for (int k0 = 0; k0 < n; k0 += T) {
    as[AT(ty, tx)] = row < n && k0 + tx < n ? a[row * n + k0 + tx] : 0;
    bs[AT(ty, tx)] = col < n && k0 + ty < n ? b[(k0 + ty) * n + col] : 0;
    __syncthreads();
    for (int k = 0; k < T; ++k)
      sum += as[AT(ty, k)] * bs[AT(k, tx)];
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
    a[i] = (i * 9) % 25 - 12;
    b[i] = (i * 4) % 21 - 10;
  }
  int *da, *db, *dc;
  cudaMalloc(&da, bytes);
  cudaMalloc(&db, bytes);
  cudaMalloc(&dc, bytes);
  cudaMemcpy(da, a.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(db, b.data(), bytes, cudaMemcpyHostToDevice);
  const dim3 grid((n + T - 1) / T, (n + T - 1) / T), block(T, T);
  multiply<<<grid, block>>>(da, db, dc, n);
  cudaMemcpy(c.data(), dc, bytes, cudaMemcpyDeviceToHost);
  unsigned hash = 0;
  for (int value : c)
    hash = hash * 131u + value;
  printf("%d: %d %08x\n", n, c[n * n - 1], hash);
  return 0;
}

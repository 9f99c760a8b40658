// EXPECT: some
// WHY: dynamic shared memory grows with the square of the tile: 64 needs more than 48 KB and 1,024 threads
// SIZES: 20,33,64,80
// NAIVE: T in product: 64 differs at 33
// NAIVE: T in product: 8, 16 same
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

constexpr int T = 32;

__global__ void product(const long long *a, const long long *b, long long *c, int n) {
  extern __shared__ long long memory[];
  long long *as = memory, *bs = memory + T * T;
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
  long long sum = 0;
  for (int k0 = 0; k0 < n; k0 += T) {
    as[ty * T + tx] = row < n && k0 + tx < n ? a[row * n + k0 + tx] : 0;
    bs[ty * T + tx] = col < n && k0 + ty < n ? b[(k0 + ty) * n + col] : 0;
    __syncthreads();
    for (int k = 0; k < T; ++k)
      sum += as[ty * T + k] * bs[k * T + tx];
    __syncthreads();
  }
  if (row < n && col < n)
    c[row * n + col] = sum;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 64;
  const size_t bytes = n * n * sizeof(long long);
  std::vector<long long> a(n * n), b(n * n), c(n * n, 0);
  for (int i = 0; i < n * n; ++i) {
    a[i] = (long long)i * i - 77;
    b[i] = 1000003LL * (i % 19) - i;
  }
  long long *da, *db, *dc;
  cudaMalloc(&da, bytes);
  cudaMalloc(&db, bytes);
  cudaMalloc(&dc, bytes);
  cudaMemset(dc, 0, bytes);
  cudaMemcpy(da, a.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(db, b.data(), bytes, cudaMemcpyHostToDevice);
  dim3 grid((n + T - 1) / T, (n + T - 1) / T);
  dim3 block(T, T);
  product<<<grid, block, 2 * T * T * sizeof(long long)>>>(da, db, dc, n);
  cudaMemcpy(c.data(), dc, bytes, cudaMemcpyDeviceToHost);
  unsigned long long hash = 0;
  for (long long value : c)
    hash = hash * 1099511628211ull + (unsigned long long)value;
  printf("%d: %lld %016llx\n", n, c[0], hash);
  return 0;
}

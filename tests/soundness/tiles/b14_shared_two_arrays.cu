// EXPECT: keep
// WHY: two arrays in dynamic shared memory, the second begins at a literal 256: a larger tile overlaps it
// SIZES: 16,20,48,70
// NAIVE: BS in blend: 32 differs at 48
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

constexpr int BS = 16;

__global__ void blend(const int *a, const int *b, int *c, int n) {
  extern __shared__ int pool[];
  int *left = pool, *right = pool + 256;
  int x = blockIdx.x * BS + threadIdx.x, y = blockIdx.y * BS + threadIdx.y;
  int at = threadIdx.y * BS + threadIdx.x;
  left[at] = x < n && y < n ? a[y * n + x] : 0;
  right[at] = x < n && y < n ? b[y * n + x] : 0;
  __syncthreads();
  // Both neighbours are in the same pair of columns, so that no tile can be seen.
  int other = threadIdx.y * BS + (threadIdx.x ^ 1);
  if (x < n && y < n)
    c[y * n + x] = 3 * left[other] - 2 * right[at] + right[other];
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 48;
  std::vector<int> a(n * n), b(n * n), c(n * n);
  for (int i = 0; i < n * n; ++i) {
    a[i] = i % 91;
    b[i] = i % 57 + 100;
  }
  int *da, *db, *dc;
  const size_t bytes = n * n * sizeof(int);
  cudaMalloc(&da, bytes);
  cudaMalloc(&db, bytes);
  cudaMalloc(&dc, bytes);
  cudaMemcpy(da, a.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(db, b.data(), bytes, cudaMemcpyHostToDevice);
  const dim3 block(BS, BS);
  const dim3 grid((n + BS - 1) / BS, (n + BS - 1) / BS);
  blend<<<grid, block, 2 * BS * BS * sizeof(int)>>>(da, db, dc, n);
  cudaMemcpy(c.data(), dc, bytes, cudaMemcpyDeviceToHost);
  long sum = 0;
  for (int i = 0; i < n * n; ++i)
    sum += (long)c[i] * (i % 9 + 1);
  printf("n %d: %d %d, %ld\n", n, c[0], c[n * n - 1], sum);
  return 0;
}

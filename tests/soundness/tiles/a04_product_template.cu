// EXPECT: tile
// WHY: control: the tile is a template argument of the launch; rectangular, integer, guarded
// SIZES: 8,33,50,77
// NAIVE: SIDE in multiply: 4, 8, 32 same
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>
#include <cuda_runtime.h>

template <int T>
__global__ void multiply(const int *a, const int *b, int *c, int m, int k, int n) {
  __shared__ int left[T][T], right[T][T];
  const int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
  int sum = 0;
  for (int start = 0; start < k; start += T) {
    left[threadIdx.y][threadIdx.x] =
        row < m && start + (int)threadIdx.x < k ? a[row * k + start + threadIdx.x] : 0;
    right[threadIdx.y][threadIdx.x] =
        col < n && start + (int)threadIdx.y < k ? b[(start + threadIdx.y) * n + col] : 0;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < T; ++i)
      sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && col < n)
    c[row * n + col] = sum;
}

static int *on_device(const std::vector<int> &values) {
  int *p;
  cudaMalloc(&p, values.size() * sizeof(int));
  cudaMemcpy(p, values.data(), values.size() * sizeof(int), cudaMemcpyHostToDevice);
  return p;
}

int main(int argc, char **argv) {
  constexpr int SIDE = 16;
  const int m = argc > 1 ? atoi(argv[1]) : 50;
  const int k = m + 5, n = 2 * m + 1;
  std::vector<int> a(m * k), b(k * n), c(m * n, -1);
  std::iota(a.begin(), a.end(), -20);
  for (int i = 0; i < k * n; ++i)
    b[i] = (i ^ (i >> 3)) & 31;
  int *da = on_device(a), *db = on_device(b), *dc = on_device(c);
  dim3 grid((n + SIDE - 1) / SIDE, (m + SIDE - 1) / SIDE);
  multiply<SIDE><<<grid, dim3(SIDE, SIDE)>>>(da, db, dc, m, k, n);
  cudaMemcpy(c.data(), dc, c.size() * sizeof(int), cudaMemcpyDeviceToHost);
  long long trace = 0, all = 0;
  for (int i = 0; i < m; ++i)
    trace += c[i * n + i];
  for (int value : c)
    all = all * 3 + value;
  printf("trace %lld all %lld\n", trace, all);
  return 0;
}

// EXPECT: keep
// WHY: a call through a pointer gives the function fewer blocks than the one that is seen
// SIZES: 8,33,50,77
// NAIVE: not shown
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>
#include <cuda_runtime.h>

#define TILE 16

__global__ void turn(const int *a, int *b, int height, int width) {
  __shared__ int part[TILE][TILE + 1];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  if (x < width && y < height)
    part[threadIdx.y][threadIdx.x] = a[y * width + x];
  __syncthreads();
  int u = blockIdx.y * TILE + threadIdx.x, v = blockIdx.x * TILE + threadIdx.y;
  if (u < height && v < width)
    b[v * height + u] = part[threadIdx.x][threadIdx.y];
}

static void run(dim3 blocks, dim3 threads, const int *from, int *to, int rows, int columns) {
  turn<<<blocks, threads>>>(from, to, rows, columns);
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 50, m = n + 7;
  std::vector<int> host(n * m);
  std::iota(host.begin(), host.end(), 1);
  int *a, *b;
  cudaMalloc(&a, n * m * sizeof(int));
  cudaMalloc(&b, n * m * sizeof(int));
  cudaMemcpy(a, host.data(), n * m * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(b, 0, n * m * sizeof(int));
  dim3 block(TILE, TILE), grid((m + TILE - 1) / TILE, (n + TILE - 1) / TILE);
  run(grid, block, a, b, n, m);
  cudaMemset(b, 0, n * m * sizeof(int));
  void (*again)(dim3, dim3, const int *, int *, int, int) = run;
  again(dim3(1, grid.y), block, a, b, n, m);
  cudaMemcpy(host.data(), b, n * m * sizeof(int), cudaMemcpyDeviceToHost);
  long long sum = 0;
  for (int i = 0; i < n * m; ++i)
    sum = (sum * 31 + host[i]) % 1000003;
  printf("%lld\n", sum);
}

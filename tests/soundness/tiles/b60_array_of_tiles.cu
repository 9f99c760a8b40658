// EXPECT: keep
// WHY: a device array has a sum per tile of the widest line, with a length computed from the macro; the host reads it by name
// SIZES: 64,100,700,1024
// NAIVE: TILE in add_up: 16 differs at 700
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 64
constexpr int WIDEST = 1024;
constexpr int SUMS = WIDEST / TILE;

__device__ int g_sums[SUMS];
__device__ int g_guard[256];

__global__ void add_up(const int *line, int n) {
  __shared__ int sum;
  if (threadIdx.x == 0)
    sum = 0;
  __syncthreads();
  int i = blockIdx.x * TILE + threadIdx.x;
  if (i < n)
    atomicAdd(&sum, line[i]);
  __syncthreads();
  if (threadIdx.x == 0)
    g_sums[blockIdx.x] = sum + g_guard[blockIdx.x];
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 700;
  if (n > WIDEST)
    n = WIDEST;
  std::vector<int> line(n);
  for (int i = 0; i < n; ++i)
    line[i] = i % 50;
  int *device, sums[SUMS] = {};
  cudaMalloc(&device, n * sizeof(int));
  cudaMemcpy(device, line.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  add_up<<<(n + TILE - 1) / TILE, TILE>>>(device, n);
  cudaMemcpyFromSymbol(sums, g_sums, sizeof sums);
  long all = 0;
  for (int s = 0; s < SUMS; ++s)
    all += sums[s];
  printf("%d sums, first %d, all %ld\n", SUMS, sums[0], all);
  cudaFree(device);
  return 0;
}

// EXPECT: some
// WHY: a static array of the kernel counts steps: right with one value everywhere, but each copy of the kernel has its own
// SIZES: 64,100,300,1000
// NAIVE: TILE in advance: 32, 128 same
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 64

// At most 4,096 values.
__global__ void advance(int *values, int n) {
  static __device__ int steps[4096];
  __shared__ int line[TILE];
  int i = blockIdx.x * TILE + threadIdx.x;
  line[threadIdx.x] = i < n ? values[i] : 0;
  __syncthreads();
  if (i < n)
    values[i] = line[threadIdx.x] * 2 + steps[i]++;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 300;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i)
    values[i] = i % 5;
  int *device;
  cudaMalloc(&device, n * sizeof(int));
  cudaMemcpy(device, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  // The sizes go from small to large, as in a multigrid cycle.
  for (int part = n / 8 + 1; part <= n; part *= 2)
    advance<<<(part + TILE - 1) / TILE, TILE>>>(device, part);
  advance<<<(n + TILE - 1) / TILE, TILE>>>(device, n);
  cudaMemcpy(values.data(), device, n * sizeof(int), cudaMemcpyDeviceToHost);
  unsigned hash = 0;
  for (int value : values)
    hash = hash * 67u + value;
  printf("%d: %d %d %08x\n", n, values[0], values[n - 1], hash);
  cudaFree(device);
  return 0;
}

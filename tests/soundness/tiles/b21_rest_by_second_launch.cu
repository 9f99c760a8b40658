// EXPECT: keep
// WHY: a second kernel adds to what whole tiles leave over, counted by the same macro on the host
// SIZES: 32,50,130,400
// NAIVE: TILE in add_tiles: 32 differs at 50
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 16

__global__ void add_tiles(int *values, int amount) {
  values[blockIdx.x * TILE + threadIdx.x] += amount;
}

__global__ void add_rest(int *values, int first, int n, int amount) {
  int i = first + blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    values[i] += amount;
}

static void add(int *values, int n, int amount) {
  const int tiles = n / TILE, rest = n % TILE;
  if (tiles > 0)
    add_tiles<<<tiles, TILE>>>(values, amount);
  if (rest > 0)
    add_rest<<<1, 32>>>(values, tiles * TILE, n, amount);
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 130;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i)
    values[i] = i;
  int *device;
  cudaMalloc(&device, n * sizeof(int));
  cudaMemcpy(device, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  add(device, n, 1000);
  add(device, n / 2, 500);
  add(device + n / 2, n - n / 2, -250);
  cudaMemcpy(values.data(), device, n * sizeof(int), cudaMemcpyDeviceToHost);
  unsigned hash = 0;
  for (int value : values)
    hash = hash * 29u + value;
  printf("%d: %d %d %08x\n", n, values[0], values[n - 1], hash);
  cudaFree(device);
  return 0;
}

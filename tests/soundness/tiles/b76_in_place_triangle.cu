// EXPECT: keep
// WHY: a transpose in place: a block for each pair of tiles, decoded from the number of tiles that the host passes
// SIZES: 32,50,96,125
// NAIVE: TILE in swap_pairs: 8 differs at 50
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 16
#define TILES(n) (((n) + TILE - 1) / TILE)

__global__ void swap_pairs(int *m, int n, int tiles) {
  __shared__ int low[TILE][TILE + 1], high[TILE][TILE + 1];
  int row = 0, left = blockIdx.x;
  while (left >= tiles - row)
    left -= tiles - row++;
  int column = row + left, tx = threadIdx.x, ty = threadIdx.y;
  int y = row * TILE + ty, x = column * TILE + tx;
  int v = column * TILE + ty, u = row * TILE + tx;
  if (x < n && y < n)
    high[ty][tx] = m[y * n + x];
  if (u < n && v < n)
    low[ty][tx] = m[v * n + u];
  __syncthreads();
  if (x < n && y < n)
    m[y * n + x] = low[tx][ty];
  if (row != column && u < n && v < n)
    m[v * n + u] = high[tx][ty];
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 96;
  std::vector<int> matrix(n * n);
  for (int i = 0; i < n * n; ++i)
    matrix[i] = i;
  int *device;
  cudaMalloc(&device, n * n * sizeof(int));
  cudaMemcpy(device, matrix.data(), n * n * sizeof(int), cudaMemcpyHostToDevice);
  const int tiles = TILES(n);
  swap_pairs<<<TILES(n) * (TILES(n) + 1) / 2, dim3(TILE, TILE)>>>(device, n, tiles);
  cudaMemcpy(matrix.data(), device, n * n * sizeof(int), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int y = 0; y < n; ++y)
    for (int x = 0; x < n; ++x)
      wrong += matrix[y * n + x] != x * n + y;
  printf("%d x %d: %d wrong\n", n, n, wrong);
  cudaFree(device);
  return 0;
}

// EXPECT: keep
// WHY: a flag per tile in managed memory: the host reads the flag of element i at i / TILE
// SIZES: 64,150,500,1200
// NAIVE: TILE in check_tiles: 128 differs at 500
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define TILE 64

struct Series {
  int *values;
  unsigned char *is_dirty;
  int n;
};

__global__ void check_tiles(Series series, int limit) {
  __shared__ int bad;
  if (threadIdx.x == 0)
    bad = 0;
  __syncthreads();
  int i = blockIdx.x * TILE + threadIdx.x;
  if (i < series.n && series.values[i] > limit)
    bad = 1;
  __syncthreads();
  if (threadIdx.x == 0 && bad)
    series.is_dirty[blockIdx.x] = 1;
}

int main(int argc, char **argv) {
  Series series;
  series.n = argc > 1 ? atoi(argv[1]) : 500;
  const int tiles = (series.n + TILE - 1) / TILE;
  cudaMallocManaged(&series.values, series.n * sizeof(int));
  cudaMallocManaged(&series.is_dirty, tiles);
  for (int i = 0; i < series.n; ++i)
    series.values[i] = i % 150 == 77 ? 1000 + i : i % 100;
  for (int t = 0; t < tiles; ++t)
    series.is_dirty[t] = 0;
  check_tiles<<<tiles, TILE>>>(series, 999);
  cudaDeviceSynchronize();
  int repaired = 0, missed = 0;
  for (int i = 0; i < series.n; ++i) {
    if (series.is_dirty[i / TILE]) {
      series.values[i] = series.values[i] % 100;
      ++repaired;
    }
    missed += series.values[i] > 999;
  }
  printf("%d of %d looked at, %d missed\n", repaired, series.n, missed);
  cudaFree(series.values);
  cudaFree(series.is_dirty);
  return 0;
}

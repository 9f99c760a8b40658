// EXPECT: keep
// WHY: the host packs the matrix block by block, with the tile as the side of a block
// SIZES: 16,40,64,90
// NAIVE: TILE in row_totals: 8 differs at 40
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

constexpr int TILE = 16;

// Element (y, x) of a matrix of `across` blocks per row, each stored as a square of its own.
__host__ __device__ inline int place(int y, int x, int across, int side) {
  return ((y / side) * across + x / side) * side * side + (y % side) * side + x % side;
}

__global__ void row_totals(const int *packed, int *totals, int across) {
  __shared__ int square[TILE][TILE];
  int y = blockIdx.x * TILE + threadIdx.y, total = 0;
  for (int b = 0; b < across; ++b) {
    square[threadIdx.y][threadIdx.x] = packed[place(y, b * TILE + threadIdx.x, across, TILE)];
    __syncthreads();
    if (threadIdx.x == 0)
      for (int k = 0; k < TILE; ++k)
        total += square[threadIdx.y][k] * (b * TILE + k + 1);
    __syncthreads();
  }
  if (threadIdx.x == 0)
    totals[y] = total;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 64;
  const int across = (n + TILE - 1) / TILE, side = across * TILE;
  std::vector<int> packed(side * side, 0), totals(side);
  for (int y = 0; y < n; ++y)
    for (int x = 0; x < n; ++x)
      packed[place(y, x, across, TILE)] = (y * 31 + x * 17) % 29;
  int *d_packed, *d_totals;
  cudaMalloc(&d_packed, packed.size() * sizeof(int));
  cudaMalloc(&d_totals, side * sizeof(int));
  cudaMemset(d_totals, 0, side * sizeof(int));
  cudaMemcpy(d_packed, packed.data(), packed.size() * sizeof(int), cudaMemcpyHostToDevice);
  dim3 block(TILE, TILE);
  row_totals<<<(n + TILE - 1) / TILE, block>>>(d_packed, d_totals, across);
  cudaMemcpy(totals.data(), d_totals, side * sizeof(int), cudaMemcpyDeviceToHost);
  long long sum = 0;
  for (int y = 0; y < n; ++y)
    sum += (long long)totals[y] * (y + 1);
  printf("%d: first %d last %d sum %lld\n", n, totals[0], totals[n - 1], sum);
  return 0;
}

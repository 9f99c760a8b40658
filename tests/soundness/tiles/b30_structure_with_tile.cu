// EXPECT: keep
// WHY: host and device share a structure with an array of TILE numbers: its size and offsets are the layout
// SIZES: 16,33,160,500
// NAIVE: TILE in settle: 8 differs at 33
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 16

struct Cell {
  int charge[TILE];
  int count;
};

__global__ void settle(Cell *cells) {
  __shared__ int charge[TILE];
  Cell &cell = cells[blockIdx.x];
  int t = threadIdx.x;
  charge[t] = t < cell.count ? cell.charge[t] : 0;
  __syncthreads();
  if (t < cell.count)
    cell.charge[t] = 2 * charge[t] - charge[(t + 1) % cell.count];
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 160;
  const int count = (n + TILE - 1) / TILE;
  std::vector<Cell> cells(count);
  for (int i = 0; i < count * TILE; ++i)
    cells[i / TILE].charge[i % TILE] = i < n ? i * 3 % 41 : 0;
  for (int c = 0; c < count; ++c)
    cells[c].count = c + 1 < count ? TILE : n - c * TILE;
  Cell *device;
  cudaMalloc(&device, count * sizeof(Cell));
  cudaMemcpy(device, cells.data(), count * sizeof(Cell), cudaMemcpyHostToDevice);
  settle<<<count, TILE>>>(device);
  cudaMemcpy(cells.data(), device, count * sizeof(Cell), cudaMemcpyDeviceToHost);
  long sum = 0;
  int filled = 0;
  for (const Cell &cell : cells) {
    filled += cell.count;
    for (int t = 0; t < cell.count; ++t)
      sum += (long)cell.charge[t] * (t + 1);
  }
  printf("%d cells of %zu bytes, %d filled, sum %ld\n", count, sizeof(Cell), filled, sum);
  cudaFree(device);
  return 0;
}

// EXPECT: keep
// WHY: cooperative groups of the tile's size each write one record, which the host counts by eights
// SIZES: 64,100,256,500
// NAIVE: TILE in summarise: 16 differs at 100
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

constexpr int TILE = 8;

__global__ void summarise(const int *in, int *sums, int n) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<TILE> tile = cg::tiled_partition<TILE>(block);
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int sum = i < n ? in[i] : 0;
  for (int d = tile.size() / 2; d > 0; d /= 2)
    sum += tile.shfl_down(sum, d);
  if (tile.thread_rank() == 0)
    sums[i / TILE] = sum;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 256;
  const int records = (n + 4 * TILE - 1) / (4 * TILE) * 4;
  std::vector<int> values(n), sums(records);
  for (int i = 0; i < n; ++i)
    values[i] = (i * 3) % 71;
  int *in, *out;
  cudaMalloc(&in, n * sizeof(int));
  cudaMalloc(&out, records * sizeof(int));
  cudaMemset(out, 0, records * sizeof(int));
  cudaMemcpy(in, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  const int blocks = (n + 4 * TILE - 1) / (4 * TILE);
  summarise<<<blocks, 4 * TILE>>>(in, out, n);
  cudaMemcpy(sums.data(), out, records * sizeof(int), cudaMemcpyDeviceToHost);
  int largest = 0, total = 0;
  for (int r = 0; r < (n + 7) / 8; ++r) {
    largest = sums[r] > largest ? sums[r] : largest;
    total += sums[r];
  }
  printf("%d records, largest %d, total %d\n", (n + 7) / 8, largest, total);
  cudaFree(in);
  cudaFree(out);
  return 0;
}

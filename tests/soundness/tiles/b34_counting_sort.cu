// EXPECT: keep
// WHY: a counting sort with a table of counts per tile, whose prefix sums the host computes for n / TILE tiles
// SIZES: 64,100,400,1000
// NAIVE: TILE in count: 64 differs at 400
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 32
#define KEYS 8

__global__ void count(const int *keys, int n, int *counts) {
  __shared__ int mine[KEYS];
  if (threadIdx.x < KEYS)
    mine[threadIdx.x] = 0;
  __syncthreads();
  int i = blockIdx.x * TILE + threadIdx.x;
  if (i < n)
    atomicAdd(&mine[keys[i]], 1);
  __syncthreads();
  if (threadIdx.x < KEYS)
    counts[blockIdx.x * KEYS + threadIdx.x] = mine[threadIdx.x];
}

__global__ void scatter(const int *keys, int n, const int *starts, int *order) {
  int tile = blockIdx.x * blockDim.x + threadIdx.x;
  int at[KEYS];
  if (tile * TILE >= n)
    return;
  for (int k = 0; k < KEYS; ++k)
    at[k] = starts[tile * KEYS + k];
  for (int i = tile * TILE; i < min(n, (tile + 1) * TILE); ++i)
    order[at[keys[i]]++] = i;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 400, tiles = (n + TILE - 1) / TILE;
  std::vector<int> keys(n), counts(tiles * KEYS), starts(tiles * KEYS), order(n);
  for (int i = 0; i < n; ++i)
    keys[i] = (i * i + 3) % KEYS;
  int *d_keys, *d_counts, *d_order;
  cudaMalloc(&d_keys, n * sizeof(int));
  cudaMalloc(&d_counts, counts.size() * sizeof(int));
  cudaMalloc(&d_order, n * sizeof(int));
  cudaMemset(d_counts, 0, counts.size() * sizeof(int));
  cudaMemset(d_order, 0, n * sizeof(int));
  cudaMemcpy(d_keys, keys.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  count<<<(n + TILE - 1) / TILE, TILE>>>(d_keys, n, d_counts);
  cudaMemcpy(counts.data(), d_counts, counts.size() * sizeof(int), cudaMemcpyDeviceToHost);
  int sum = 0;
  for (int k = 0; k < KEYS; ++k)
    for (int t = 0; t < tiles; ++t) {
      starts[t * KEYS + k] = sum;
      sum += counts[t * KEYS + k];
    }
  cudaMemcpy(d_counts, starts.data(), starts.size() * sizeof(int), cudaMemcpyHostToDevice);
  scatter<<<(tiles + 31) / 32, 32>>>(d_keys, n, d_counts, d_order);
  cudaMemcpy(order.data(), d_order, n * sizeof(int), cudaMemcpyDeviceToHost);
  unsigned hash = 0;
  for (int i : order)
    hash = hash * 43u + i;
  printf("counted %d of %d, order %08x\n", sum, n, hash);
  return 0;
}

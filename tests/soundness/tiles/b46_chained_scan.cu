// EXPECT: some
// WHY: each block waits for the one before it by a volatile flag; flags and sums are allocated for tiles of 128
// SIZES: 128,300,1000,2000
// NAIVE: TILE in scan: 16 differs at 1000
// NAIVE: TILE in scan: 256 same
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 128

struct Link {
  int sum;
  int is_ready;
};

__global__ void scan(int *values, int n, volatile Link *links, int *end) {
  __shared__ int line[TILE];
  __shared__ int before;
  int t = threadIdx.x, i = blockIdx.x * TILE + t;
  line[t] = i < n ? values[i] : 0;
  __syncthreads();
  for (int d = 1; d < TILE; d *= 2) {
    int other = t >= d ? line[t - d] : 0;
    __syncthreads();
    line[t] += other;
    __syncthreads();
  }
  if (t == 0) {
    before = 0;
    if (blockIdx.x > 0) {
      while (!links[blockIdx.x - 1].is_ready) {
      }
      before = links[blockIdx.x - 1].sum;
    }
    links[blockIdx.x].sum = before + line[TILE - 1];
    __threadfence();
    links[blockIdx.x].is_ready = 1;
    if (blockIdx.x == gridDim.x - 1)
      *end = before + line[TILE - 1];
  }
  __syncthreads();
  if (i < n)
    values[i] = before + line[t];
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1000, count = (n + 127) / 128;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i)
    values[i] = i % 9 + 1;
  // One allocation: links, then the end, then the values.
  char *memory;
  cudaMalloc(&memory, count * sizeof(Link) + 64 + n * sizeof(int));
  Link *links = (Link *)memory;
  int *end = (int *)(links + count), *device = end + 16, total = 0;
  cudaMemset(memory, 0, count * sizeof(Link) + 64);
  cudaMemcpy(device, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  scan<<<(n + TILE - 1) / TILE, TILE>>>(device, n, links, end);
  cudaMemcpy(values.data(), device, n * sizeof(int), cudaMemcpyDeviceToHost);
  cudaMemcpy(&total, end, sizeof(int), cudaMemcpyDeviceToHost);
  unsigned hash = 0;
  for (int value : values)
    hash = hash * 19u + value;
  printf("total %d, last %d, hash %08x\n", total, values[n - 1], hash);
  return 0;
}

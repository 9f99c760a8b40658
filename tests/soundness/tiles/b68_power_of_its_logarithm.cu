// EXPECT: keep
// WHY: the tile is 1 << LEVELS, and the butterfly has LEVELS steps: the two are one number
// SIZES: 32,64,200,512
// NAIVE: TILE in hadamard: 16 differs at 200
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

constexpr int LEVELS = 5;
constexpr int TILE = 1 << LEVELS;

__global__ void hadamard(int *values, int n) {
  __shared__ int line[TILE];
  int t = threadIdx.x, i = blockIdx.x * TILE + t;
  line[t] = i < n ? values[i] : 0;
  __syncthreads();
  for (int level = 0; level < LEVELS; ++level) {
    int stride = 1 << level;
    int mine = line[t], other = line[(t ^ stride) % TILE];
    __syncthreads();
    line[t] = t & stride ? other - mine : mine + other;
    __syncthreads();
  }
  if (i < n)
    values[i] = line[t];
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 200;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i)
    values[i] = i % 25 - 12;
  int *device;
  cudaMalloc(&device, n * sizeof(int));
  cudaMemcpy(device, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  const int tiles = (n + TILE - 1) / TILE;
  hadamard<<<tiles, TILE>>>(device, n);
  hadamard<<<tiles, TILE>>>(device, n);
  cudaMemcpy(values.data(), device, n * sizeof(int), cudaMemcpyDeviceToHost);
  long sum = 0;
  int same = 0;
  for (int i = 0; i < n; ++i) {
    same += values[i] == TILE * (i % 25 - 12);
    sum += (long)values[i] * (i % 7);
  }
  printf("%d of %d come back, sum %ld\n", same, n, sum);
  cudaFree(device);
  return 0;
}

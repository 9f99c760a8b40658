// EXPECT: some
// WHY: 16 zeros behind the array catch the last tile's reads: with 64 they go on into the next array, which is counted
// SIZES: 64,100,200,1001
// NAIVE: TILE in count_positive: 64 differs at 100
// NAIVE: TILE in count_positive: 8 same
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

constexpr int TILE = 16;
constexpr int SLACK = 16;

__global__ void count_positive(const int *values, int *count) {
  __shared__ int found;
  if (threadIdx.x == 0)
    found = 0;
  __syncthreads();
  if (values[blockIdx.x * TILE + threadIdx.x] > 0)
    atomicAdd(&found, 1);
  __syncthreads();
  if (threadIdx.x == 0)
    atomicAdd(count, found);
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 100;
  // Three series in one allocation, each followed by zeros.
  const int stride = n + SLACK;
  std::vector<int> all(3 * stride + 256, 0);
  for (int series = 0; series < 3; ++series)
    for (int i = 0; i < n; ++i)
      all[series * stride + i] = (i * (series + 3)) % 17 - 5;
  int *device, *d_counts, counts[3];
  cudaMalloc(&device, all.size() * sizeof(int));
  cudaMalloc(&d_counts, sizeof counts);
  cudaMemcpy(device, all.data(), all.size() * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(d_counts, 0, sizeof counts);
  for (int series = 0; series < 3; ++series)
    count_positive<<<(n + TILE - 1) / TILE, TILE>>>(device + series * stride, d_counts + series);
  cudaMemcpy(counts, d_counts, sizeof counts, cudaMemcpyDeviceToHost);
  printf("positive: %d %d %d of %d each\n", counts[0], counts[1], counts[2], n);
  cudaFree(device);
  cudaFree(d_counts);
  return 0;
}

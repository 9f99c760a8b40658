// EXPECT: some
// WHY: the device sorts runs of a tile, the host merges runs of RUN: the two must be as long
// SIZES: 64,100,256,777
// NAIVE: TILE in sort_runs: 32 differs at 100
// NAIVE: TILE in sort_runs: 128 same
#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

constexpr int TILE = 64;
static const int RUN = 64;

__global__ void sort_runs(int *values, int n) {
  __shared__ int run[TILE];
  int t = threadIdx.x, i = blockIdx.x * TILE + t;
  run[t] = i < n ? values[i] : INT_MAX;
  __syncthreads();
  for (int size = 2; size <= TILE; size *= 2)
    for (int stride = size / 2; stride > 0; stride /= 2) {
      int other = t ^ stride;
      if (other > t) {
        bool is_up = (t & size) == 0;
        if ((run[t] > run[other]) == is_up) {
          int kept = run[t];
          run[t] = run[other];
          run[other] = kept;
        }
      }
      __syncthreads();
    }
  if (i < n)
    values[i] = run[t];
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 256;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i)
    values[i] = (i * 7919) % 4001 - 2000;
  int *device;
  cudaMalloc(&device, n * sizeof(int));
  cudaMemcpy(device, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  const int blocks = (n + TILE - 1) / TILE;
  sort_runs<<<blocks, TILE>>>(device, n);
  cudaMemcpy(values.data(), device, n * sizeof(int), cudaMemcpyDeviceToHost);
  for (int length = RUN; length < n; length *= 2)
    for (int at = 0; at + length < n; at += 2 * length)
      std::inplace_merge(values.begin() + at, values.begin() + at + length,
                         values.begin() + std::min(n, at + 2 * length));
  int descents = 0;
  for (int i = 1; i < n; ++i)
    descents += values[i - 1] > values[i];
  printf("%d values from %d to %d, %d descents\n", n, values[0], values[n - 1], descents);
  cudaFree(device);
  return 0;
}

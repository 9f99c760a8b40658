// EXPECT: keep
// WHY: a table of 16 places stands in device memory: half of it is no permutation, behind it is another table
// SIZES: 16,50,160,333
// NAIVE: TILE in permute: 8 differs at 50
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

enum Sizes { TILE = 16, ROUNDS = 3 };

__device__ const int d_reversed[16] = {0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15};

__global__ void permute(int *data, int n) {
  __shared__ int from[TILE];
  int i = blockIdx.x * TILE + threadIdx.x;
  for (int round = 0; round < ROUNDS; ++round) {
    from[threadIdx.x] = i < n ? data[i] : round;
    __syncthreads();
    int next = from[d_reversed[threadIdx.x] % TILE] * 3 + (int)threadIdx.x;
    __syncthreads();
    if (i < n)
      data[i] = next;
  }
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 160;
  std::vector<int> data(n);
  for (int i = 0; i < n; ++i)
    data[i] = i ^ 5;
  int *device;
  cudaMalloc(&device, n * sizeof(int));
  cudaMemcpy(device, data.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  const int blocks = (n + TILE - 1) / TILE;
  permute<<<blocks, TILE>>>(device, n);
  cudaMemcpy(data.data(), device, n * sizeof(int), cudaMemcpyDeviceToHost);
  unsigned sum = 0;
  for (int i = 0; i < n; ++i)
    sum += unsigned(data[i]) * (i % 7 + 1);
  printf("%d: %d %d %u\n", n, data[0], data[n / 2], sum);
  cudaFree(device);
  return 0;
}

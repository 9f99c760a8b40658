// EXPECT: keep
// WHY: two launches of one kernel: the first counts elements, the second whole tiles, as its argument says
// SIZES: 64,100,330,1000
// NAIVE: TILE in fill: 16 differs at 100
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

constexpr int TILE = 32;

__global__ void fill(int *to, int count, bool is_tiles, int value) {
  __shared__ int shared_value;
  if (threadIdx.x == 0)
    shared_value = value;
  __syncthreads();
  int end = is_tiles ? count * TILE : count;
  int i = blockIdx.x * TILE + threadIdx.x;
  if (i < end)
    to[i] = to[i] * 10 + shared_value;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 100;
  std::vector<int> values(n);
  int *device;
  cudaMalloc(&device, n * sizeof(int));
  cudaMemset(device, 0, n * sizeof(int));
  const int blocks = (n + TILE - 1) / TILE;
  fill<<<blocks, TILE>>>(device, n, false, 3);
  // Only whole tiles get the second digit.
  fill<<<blocks, TILE>>>(device, n / TILE, true, 7);
  fill<<<blocks, TILE>>>(device, n / 2, false, 1);
  cudaMemcpy(values.data(), device, n * sizeof(int), cudaMemcpyDeviceToHost);
  int one = 0, two = 0, three = 0;
  for (int value : values) {
    one += value < 10;
    two += value >= 10 && value < 100;
    three += value >= 100;
  }
  printf("%d: %d %d %d, first %d last %d\n", n, one, two, three, values[0], values[n - 1]);
  cudaFree(device);
  return 0;
}

// EXPECT: keep
// WHY: sums within segments of the tile by shuffles of that width: a segment is a result
// SIZES: 32,100,256,500
// NAIVE: TILE in segment_sums: 32 differs at 100
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

constexpr int TILE = 16;

__global__ void segment_sums(const int *in, int *out, int n) {
  __shared__ int first;
  int i = blockIdx.x * TILE + threadIdx.x;
  int value = i < n ? in[i] : 0;
  unsigned mask = TILE == 32 ? 0xffffffffu : (1u << TILE) - 1;
  int sum = value;
  for (int d = TILE / 2; d > 0; d /= 2)
    sum += __shfl_down_sync(mask, sum, d, TILE);
  if (threadIdx.x == 0)
    first = sum;
  __syncthreads();
  if (i < n)
    out[i] = TILE / 2 * value - first;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 100;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i)
    values[i] = (i * 23) % 90;
  int *in, *out;
  cudaMalloc(&in, n * sizeof(int));
  cudaMalloc(&out, n * sizeof(int));
  cudaMemcpy(in, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  segment_sums<<<(n + TILE - 1) / TILE, TILE>>>(in, out, n);
  cudaMemcpy(values.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost);
  unsigned hash = 0;
  for (int value : values)
    hash = hash * 47u + value;
  printf("%d %d %08x\n", values[0], values[n - 1], hash);
  cudaFree(in);
  cudaFree(out);
  return 0;
}

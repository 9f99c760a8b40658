// EXPECT: keep
// WHY: a constant that is computed from the tile is the length of a table that the host fills
// SIZES: 100,1000,5001
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

namespace window {
constexpr int TILE = 64;
constexpr int LENGTH = TILE / 2;
__constant__ int table[LENGTH];

__global__ void weighted(const int *x, int *out, int n) {
  __shared__ int s[TILE];
  const int i = blockIdx.x * TILE + threadIdx.x;
  s[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  if (i < n) out[i] = s[threadIdx.x] * table[i % LENGTH];
}
} // namespace window

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1000;
  std::vector<int> x(n), weights(window::LENGTH);
  for (int i = 0; i < n; ++i) x[i] = i * 37 % 101;
  for (int k = 0; k < window::LENGTH; ++k) weights[k] = 3 * k + 1;
  int *values, *out;
  cudaMalloc(&values, n * sizeof(int));
  cudaMalloc(&out, n * sizeof(int));
  cudaMemcpy(values, x.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemcpyToSymbol(window::table, weights.data(), weights.size() * sizeof(int));
  window::weighted<<<(n + window::TILE - 1) / window::TILE, window::TILE>>>(values, out, n);
  cudaMemcpy(x.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost);
  unsigned hash = 0;
  for (int one : x) hash = hash * 31 + one;
  printf("%u\n", hash);
}

// EXPECT: some
// WHY: a quarter of the threads loads the tile by int4: a tile of 2 loads nothing, one of 6 is misaligned
// SIZES: 32,64,200,400
// NAIVE: TILE in gather: 2 differs at 200
// NAIVE: TILE in gather: 8, 16 same
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

constexpr int TILE = 32;

__global__ void gather(const int *in, int *out, int n) {
  __shared__ __align__(16) int part[TILE];
  int t = threadIdx.x, first = blockIdx.x * TILE;
  if (t < TILE / 4 && first + 4 * t + 3 < n)
    reinterpret_cast<int4 *>(part)[t] = reinterpret_cast<const int4 *>(in + first)[t];
  __syncthreads();
  if (first + t < n)
    out[first + t] = part[t ^ 1] * 3 + part[t];
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 200;
  n &= ~3;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i)
    values[i] = (i * 41) % 77 + 1;
  int *in, *out;
  cudaMalloc(&in, n * sizeof(int));
  cudaMalloc(&out, n * sizeof(int));
  cudaMemcpy(in, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  const int tiles = (n + TILE - 1) / TILE;
  gather<<<tiles, TILE>>>(in, out, n);
  cudaMemcpy(values.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost);
  unsigned hash = 0;
  for (int value : values)
    hash = hash * 53u + value;
  printf("%d: %d %d %08x\n", n, values[0], values[n - 1], hash);
  cudaFree(in);
  cudaFree(out);
  return 0;
}

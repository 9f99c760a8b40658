// EXPECT: some
// WHY: places in the tile are kept in bytes: 16 * 16 fit, 32 * 32 wrap around
// SIZES: 16,40,64,75
// NAIVE: TILE in shuffle_tiles: 32 differs at 40
// NAIVE: TILE in shuffle_tiles: 8 same
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 16

__global__ void shuffle_tiles(const int *in, int *out, int n) {
  __shared__ int values[TILE * TILE];
  __shared__ unsigned char from[TILE * TILE];
  int t = threadIdx.y * TILE + threadIdx.x;
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  values[t] = x < n && y < n ? in[y * n + x] : 0;
  from[t] = (unsigned char)(t ^ 1);
  __syncthreads();
  if (x < n && y < n)
    out[y * n + x] = values[t] + 2 * values[from[t]];
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 64;
  std::vector<int> image(n * n), result(n * n);
  for (int i = 0; i < n * n; ++i)
    image[i] = (i * 31) % 500;
  int *in, *out;
  cudaMalloc(&in, n * n * sizeof(int));
  cudaMalloc(&out, n * n * sizeof(int));
  cudaMemcpy(in, image.data(), n * n * sizeof(int), cudaMemcpyHostToDevice);
  const dim3 block(TILE, TILE);
  const dim3 grid((n + TILE - 1) / TILE, (n + TILE - 1) / TILE);
  shuffle_tiles<<<grid, block>>>(in, out, n);
  cudaMemcpy(result.data(), out, n * n * sizeof(int), cudaMemcpyDeviceToHost);
  unsigned hash = 0;
  for (int value : result)
    hash = hash * 61u + value;
  printf("%d x %d: %d %08x\n", n, n, result[n * n - 1], hash);
  cudaFree(in);
  cudaFree(out);
  return 0;
}

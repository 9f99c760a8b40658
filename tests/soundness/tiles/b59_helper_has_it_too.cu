// EXPECT: keep
// WHY: device functions that the kernel calls use the constant as well: right only where they get it, too
// SIZES: 16,40,96,150
// NAIVE: TILE in rearrange: 8 differs at 40
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 16

// A line of a tile goes back and forth, as an ox ploughs.
__device__ int ploughed(int x, int y) {
  return y % 2 == 0 ? x : x / TILE * TILE + TILE - 1 - x % TILE;
}

__device__ int load(const int *in, int x, int y, int n) {
  int from = ploughed(x, y);
  return from < n && y < n ? in[y * n + from] : -1;
}

__global__ void rearrange(const int *in, int *out, int n) {
  __shared__ int tile[TILE][TILE];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  tile[threadIdx.y][ploughed(threadIdx.x, threadIdx.y) % TILE] = load(in, x, y, n);
  __syncthreads();
  if (x < n && y < n)
    out[y * n + x] = tile[threadIdx.y][threadIdx.x] - x;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 96;
  std::vector<int> image(n * n), result(n * n);
  for (int i = 0; i < n * n; ++i)
    image[i] = (i * 19) % 1009;
  int *in, *out;
  cudaMalloc(&in, n * n * sizeof(int));
  cudaMalloc(&out, n * n * sizeof(int));
  cudaMemcpy(in, image.data(), n * n * sizeof(int), cudaMemcpyHostToDevice);
  dim3 block(TILE, TILE), grid((n + TILE - 1) / TILE, (n + TILE - 1) / TILE);
  rearrange<<<grid, block>>>(in, out, n);
  cudaMemcpy(result.data(), out, n * n * sizeof(int), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int y = 0; y < n; ++y)
    for (int x = 0; x < n; ++x)
      wrong += result[y * n + x] != image[y * n + x] - x;
  printf("%d: %d wrong, last %d\n", n, wrong, result[n * n - 1]);
  return 0;
}

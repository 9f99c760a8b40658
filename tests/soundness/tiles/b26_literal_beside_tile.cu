// EXPECT: keep
// WHY: the first 16 threads load the border, written as a literal beside the tile of 16
// SIZES: 32,50,100,164
// NAIVE: TILE in edges: 32 differs at 50
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 16

__global__ void edges(const int *in, int *out, int n) {
  __shared__ int patch[TILE + 1][TILE + 1];
  int tx = threadIdx.x, ty = threadIdx.y;
  int x = blockIdx.x * TILE + tx, y = blockIdx.y * TILE + ty;
  auto pixel = [&](int px, int py) { return in[min(py, n - 1) * n + min(px, n - 1)]; };
  patch[ty][tx] = pixel(x, y);
  patch[TILE][tx] = 0;
  patch[ty][TILE] = 0;
  __syncthreads();
  int t = ty * TILE + tx;
  if (t < 16)
    patch[TILE][t] = pixel(blockIdx.x * TILE + t, (blockIdx.y + 1) * TILE);
  else if (t < 32)
    patch[t - 16][TILE] = pixel((blockIdx.x + 1) * TILE, blockIdx.y * TILE + t - 16);
  __syncthreads();
  if (x < n && y < n)
    out[y * n + x] = abs(patch[ty][tx + 1] - patch[ty][tx]) + abs(patch[ty + 1][tx] - patch[ty][tx]);
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 100;
  std::vector<int> image(n * n);
  for (int y = 0; y < n; ++y)
    for (int x = 0; x < n; ++x)
      image[y * n + x] = (x * x + 3 * y * x + y) % 256;
  int *in, *out;
  cudaMalloc(&in, n * n * sizeof(int));
  cudaMalloc(&out, n * n * sizeof(int));
  cudaMemcpy(in, image.data(), n * n * sizeof(int), cudaMemcpyHostToDevice);
  dim3 block(TILE, TILE), grid((n + TILE - 1) / TILE, (n + TILE - 1) / TILE);
  edges<<<grid, block>>>(in, out, n);
  cudaMemcpy(image.data(), out, n * n * sizeof(int), cudaMemcpyDeviceToHost);
  long sum = 0;
  int strongest = 0;
  for (int i = 0; i < n * n; ++i) {
    sum += (long)image[i] * (i % 5 + 1);
    strongest = image[i] > strongest ? image[i] : strongest;
  }
  printf("strongest %d, sum %ld\n", strongest, sum);
  return 0;
}

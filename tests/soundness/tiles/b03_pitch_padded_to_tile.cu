// EXPECT: some
// WHY: rows are padded to a multiple of TILE so that no thread needs a guard; 32 runs into the next row
// SIZES: 32,40,50,72
// NAIVE: TILE in accumulate: 32 differs at 40
// NAIVE: TILE in accumulate: 8 same
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 16

__global__ void accumulate(int *image, const int *delta, int pitch) {
  __shared__ int part[TILE][TILE];
  int x = blockIdx.x * TILE + threadIdx.x;
  int y = blockIdx.y * TILE + threadIdx.y;
  part[threadIdx.y][threadIdx.x] = delta[y * pitch + x];
  __syncthreads();
  int sum = 0;
  for (int k = 0; k < 4; ++k)
    sum += part[threadIdx.y][(threadIdx.x & ~3) + k];
  image[y * pitch + x] += sum;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 50;
  const int pitch = (n + TILE - 1) / TILE * TILE;
  const int count = pitch * pitch;
  std::vector<int> image(count, 1), delta(count, 0);
  for (int y = 0; y < n; ++y)
    for (int x = 0; x < n; ++x)
      delta[y * pitch + x] = (x * 3 + y * 5) % 17;
  int *d_image, *d_delta;
  cudaMalloc(&d_image, 2 * count * sizeof(int));
  d_delta = d_image + count;
  cudaMemcpy(d_image, image.data(), count * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemcpy(d_delta, delta.data(), count * sizeof(int), cudaMemcpyHostToDevice);
  dim3 block(TILE, TILE);
  dim3 grid((n + TILE - 1) / TILE, (n + TILE - 1) / TILE);
  for (int step = 0; step < 2; ++step)
    accumulate<<<grid, block>>>(d_image, d_delta, pitch);
  cudaMemcpy(image.data(), d_image, count * sizeof(int), cudaMemcpyDeviceToHost);
  unsigned hash = 0;
  for (int y = 0; y < n; ++y)
    for (int x = 0; x < n; ++x)
      hash = hash * 33u + image[y * pitch + x];
  printf("%d in rows of %d: %08x\n", n, pitch, hash);
  cudaFree(d_image);
  return 0;
}

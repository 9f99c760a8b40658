// EXPECT: tile
// WHY: control: the halo is loaded by a loop over the whole patch, with clamped coordinates
// SIZES: 32,50,64,97
// NAIVE: TILE in smooth: 4, 8, 32 same
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>
#include <cuda_runtime.h>

#define TILE 16
#define RADIUS 1
#define PATCH (TILE + 2 * RADIUS)

__global__ void smooth(const int *in, int *out, int width, int height) {
  __shared__ int patch[PATCH][PATCH];
  int left = blockIdx.x * TILE - RADIUS, top = blockIdx.y * TILE - RADIUS;
  for (int y = threadIdx.y; y < PATCH; y += blockDim.y)
    for (int x = threadIdx.x; x < PATCH; x += blockDim.x) {
      int gx = min(max(left + x, 0), width - 1);
      int gy = min(max(top + y, 0), height - 1);
      patch[y][x] = in[gy * width + gx];
    }
  __syncthreads();
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  if (x >= width || y >= height)
    return;
  int sum = 0;
  for (int dy = 0; dy <= 2 * RADIUS; ++dy)
    for (int dx = 0; dx <= 2 * RADIUS; ++dx)
      sum += patch[threadIdx.y + dy][threadIdx.x + dx];
  out[y * width + x] = sum / 9;
}

int main(int argc, char **argv) {
  int width = argc > 1 ? atoi(argv[1]) : 64, height = width * 3 / 4 + 1;
  int count = width * height;
  std::vector<int> image(count);
  for (int i = 0; i < count; ++i)
    image[i] = (i * 2654435761u >> 20) & 1023;
  int *now, *then;
  cudaMalloc(&now, count * sizeof(int));
  cudaMalloc(&then, count * sizeof(int));
  cudaMemcpy(now, image.data(), count * sizeof(int), cudaMemcpyHostToDevice);
  dim3 block(TILE, TILE), grid((width + TILE - 1) / TILE, (height + TILE - 1) / TILE);
  for (int step = 0; step < 3; ++step) {
    smooth<<<grid, block>>>(now, then, width, height);
    std::swap(now, then);
  }
  cudaMemcpy(image.data(), now, count * sizeof(int), cudaMemcpyDeviceToHost);
  unsigned hash = 2166136261u;
  for (int value : image)
    hash = (hash ^ value) * 16777619u;
  printf("%d %d %d %08x\n", image[0], image[count / 2], image[count - 1], hash);
  return 0;
}

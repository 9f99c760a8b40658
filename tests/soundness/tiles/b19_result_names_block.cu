// EXPECT: keep
// WHY: regions get the number of their tile as a label, and the number of tiles is part of the result
// SIZES: 16,33,64,90
// NAIVE: TILE in label: 8 differs at 64
#include <cstdio>
#include <cstdlib>
#include <set>
#include <vector>
#include <cuda_runtime.h>

enum { TILE = 16 };

__global__ void label(const unsigned char *image, int *labels, int *tiles, int n) {
  __shared__ int foreground;
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  if (threadIdx.x == 0 && threadIdx.y == 0)
    foreground = 0;
  __syncthreads();
  bool is_set = x < n && y < n && image[y * n + x] > 128;
  if (is_set)
    atomicAdd(&foreground, 1);
  __syncthreads();
  if (x < n && y < n)
    labels[y * n + x] = is_set ? 1 + blockIdx.y * gridDim.x + blockIdx.x : 0;
  if (threadIdx.x == 0 && threadIdx.y == 0 && foreground > 0)
    atomicAdd(tiles, 1);
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 64;
  std::vector<unsigned char> image(n * n);
  for (int y = 0; y < n; ++y)
    for (int x = 0; x < n; ++x)
      image[y * n + x] = (x / 5 + y / 7) % 3 == 0 ? 200 : 50;
  unsigned char *d_image;
  int *d_labels, *d_tiles, tiles = 0;
  cudaMalloc(&d_image, n * n);
  cudaMalloc(&d_labels, n * n * sizeof(int));
  cudaMalloc(&d_tiles, sizeof(int));
  cudaMemset(d_tiles, 0, sizeof(int));
  cudaMemcpy(d_image, image.data(), n * n, cudaMemcpyHostToDevice);
  dim3 block(TILE, TILE), grid((n + TILE - 1) / TILE, (n + TILE - 1) / TILE);
  label<<<grid, block>>>(d_image, d_labels, d_tiles, n);
  std::vector<int> labels(n * n);
  cudaMemcpy(labels.data(), d_labels, n * n * sizeof(int), cudaMemcpyDeviceToHost);
  cudaMemcpy(&tiles, d_tiles, sizeof(int), cudaMemcpyDeviceToHost);
  std::set<int> distinct(labels.begin(), labels.end());
  printf("%zu labels in %d tiles, last %d\n", distinct.size(), tiles, *distinct.rbegin());
  return 0;
}

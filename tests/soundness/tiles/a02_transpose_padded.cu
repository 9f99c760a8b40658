// EXPECT: tile
// WHY: control: a transpose with a padded tile, guarded on both sides
// SIZES: 32,45,96,130
// NAIVE: TILE in transpose: 4, 8, 16 same
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

constexpr int TILE = 32;

__global__ void transpose(const float *in, float *out, int width, int height) {
  __shared__ float tile[TILE][TILE + 1];
  int x = blockIdx.x * TILE + threadIdx.x;
  int y = blockIdx.y * TILE + threadIdx.y;
  if (x < width && y < height)
    tile[threadIdx.y][threadIdx.x] = in[y * width + x];
  __syncthreads();
  x = blockIdx.y * TILE + threadIdx.x;
  y = blockIdx.x * TILE + threadIdx.y;
  if (x < height && y < width)
    out[y * height + x] = tile[threadIdx.x][threadIdx.y];
}

int main(int argc, char **argv) {
  const int width = argc > 1 ? atoi(argv[1]) : 100;
  const int height = width / 2 + 3;
  const int count = width * height;
  std::vector<float> in(count), out(count);
  for (int i = 0; i < count; ++i)
    in[i] = 0.25f * i;
  float *from, *to;
  cudaMalloc(&from, count * sizeof(float));
  cudaMalloc(&to, count * sizeof(float));
  cudaMemcpy(from, in.data(), count * sizeof(float), cudaMemcpyHostToDevice);
  dim3 grid((width + TILE - 1) / TILE, (height + TILE - 1) / TILE);
  dim3 block(TILE, TILE);
  transpose<<<grid, block>>>(from, to, width, height);
  cudaMemcpy(out.data(), to, count * sizeof(float), cudaMemcpyDeviceToHost);
  int wrong = 0;
  double sum = 0;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      wrong += out[x * height + y] != in[y * width + x];
      sum += out[x * height + y] * ((x + 2 * y) % 7);
    }
  printf("%d x %d: %d wrong, checksum %.2f\n", width, height, wrong, sum);
  cudaFree(from);
  cudaFree(to);
  return wrong != 0;
}

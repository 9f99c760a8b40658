// EXPECT: keep
// WHY: the place in the tile is `& 15`, the tile `>> 4`, beside the constant: 8 differs from 128 elements on only
// SIZES: 64,90,256,500
// NAIVE: TILE in swizzle: 8 differs at 256
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

static const int TILE = 16;

__global__ void swizzle(const int *in, int *out, int n) {
  __shared__ int buffer[TILE];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int lane = i & 15, tile = i >> 4;
  buffer[threadIdx.x] = i < n ? in[i] : -1;
  __syncthreads();
  if (i < n)
    out[i] = 100 * buffer[(lane ^ tile) % TILE] + lane;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 90;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i)
    values[i] = (i * 11) % 64;
  int *in = nullptr, *out = nullptr;
  cudaMalloc((void **)&in, n * sizeof(int));
  cudaMalloc((void **)&out, n * sizeof(int));
  cudaMemcpy(in, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  int tiles = (n + TILE - 1) / TILE;
  swizzle<<<tiles, TILE>>>(in, out, n);
  cudaMemcpy(values.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost);
  int least = values[0];
  long sum = 0;
  for (int i = 0; i < n; ++i) {
    sum += (long)values[i] * (i % 13);
    least = values[i] < least ? values[i] : least;
  }
  printf("n=%d least=%d sum=%ld\n", n, least, sum);
  cudaFree(out);
  cudaFree(in);
  return 0;
}

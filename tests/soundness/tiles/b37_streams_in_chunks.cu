// EXPECT: keep
// WHY: two streams take turns with chunks of whole tiles, whose lengths the host computes; the kernel has no guard
// SIZES: 64,128,500,1000
// NAIVE: TILE in negate_sums: 64 differs at 500
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define TILE 16
#define TILES_PER_CHUNK 3

__global__ void negate_sums(int *values) {
  __shared__ int pair[TILE];
  int i = blockIdx.x * TILE + threadIdx.x;
  pair[threadIdx.x] = values[i];
  __syncthreads();
  values[i] = -(pair[threadIdx.x] + pair[threadIdx.x ^ 1]);
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 500;
  const int tiles = n / TILE;
  int *host, *device;
  cudaMallocHost((void **)&host, n * sizeof(int));
  cudaMalloc((void **)&device, n * sizeof(int));
  for (int i = 0; i < n; ++i)
    host[i] = i * 3 % 40;
  cudaStream_t streams[2];
  for (cudaStream_t &stream : streams)
    cudaStreamCreate(&stream);
  cudaMemcpy(device, host, n * sizeof(int), cudaMemcpyHostToDevice);
  for (int first = 0, turn = 0; first < tiles; first += TILES_PER_CHUNK, ++turn) {
    int now = tiles - first < TILES_PER_CHUNK ? tiles - first : TILES_PER_CHUNK;
    int *chunk = device + first * TILE;
    negate_sums<<<(now * TILE + TILE - 1) / TILE, TILE, 0, streams[turn % 2]>>>(chunk);
  }
  cudaDeviceSynchronize();
  cudaMemcpy(host, device, n * sizeof(int), cudaMemcpyDeviceToHost);
  int untouched = 0;
  long sum = 0;
  for (int i = 0; i < n; ++i) {
    untouched += host[i] > 0;
    sum += (long)host[i] * (i % 21);
  }
  printf("%d untouched, sum %ld\n", untouched, sum);
  for (cudaStream_t stream : streams)
    cudaStreamDestroy(stream);
  cudaFree(device);
  cudaFreeHost(host);
  return 0;
}

// EXPECT: some
// WHY: the launch asks for 64 bytes of shared memory: 16 ints, the rest of a larger tile is not there
// SIZES: 32,100,256,400
// NAIVE: TILE in rotate: 32 differs at 100
// NAIVE: TILE in rotate: 8 same
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 16

__global__ void rotate(const int *in, int *out, int n) {
  extern __shared__ int ring[];
  int i = blockIdx.x * TILE + threadIdx.x;
  ring[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  int sum = 0;
  for (int k = 0; k < 4; ++k)
    sum = sum * 5 + ring[(threadIdx.x & ~3u) + ((threadIdx.x + k) & 3)];
  if (i < n)
    out[i] = sum;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 100;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i)
    values[i] = i * 7 % 31;
  int *in, *out;
  cudaMalloc(&in, n * sizeof(int));
  cudaMalloc(&out, n * sizeof(int));
  cudaMemcpy(in, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(out, 255, n * sizeof(int));
  rotate<<<(n + TILE - 1) / TILE, TILE, 64>>>(in, out, n);
  const cudaError_t status = cudaDeviceSynchronize();
  cudaMemcpy(values.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost);
  unsigned hash = 0;
  for (int value : values)
    hash = hash * 101u + value;
  printf("%s, hash %08x\n", cudaGetErrorName(status), hash);
  return 0;
}

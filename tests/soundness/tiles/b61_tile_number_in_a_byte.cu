// EXPECT: some
// WHY: the number of its tile is kept in a byte per element: tiles of 4 need more than 256 from 1,025 elements on, smaller sizes agree
// SIZES: 64,100,1000,2000
// NAIVE: TILE in number: 4 differs at 2000
// NAIVE: TILE in number: 32 same
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 16

__global__ void number(const int *in, unsigned char *owner, int *out, int n) {
  __shared__ int line[TILE];
  int i = blockIdx.x * TILE + threadIdx.x;
  line[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  if (i < n) {
    owner[i] = (unsigned char)blockIdx.x;
    // Where the element lies is found again from its owner.
    int place = owner[i] * TILE + threadIdx.x;
    out[place] = line[threadIdx.x] + line[threadIdx.x ^ 1];
  }
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1000;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i)
    values[i] = (i * 13) % 999;
  int *in, *out;
  unsigned char *owner;
  cudaMalloc(&in, n * sizeof(int));
  cudaMalloc(&out, n * sizeof(int));
  cudaMalloc(&owner, n);
  cudaMemset(out, 0, n * sizeof(int));
  cudaMemcpy(in, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  const int tiles = (n + TILE - 1) / TILE;
  number<<<tiles, TILE>>>(in, owner, out, n);
  cudaMemcpy(values.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost);
  long sum = 0;
  int zeros = 0;
  for (int i = 0; i < n; ++i) {
    sum += (long)values[i] * (i % 11);
    zeros += values[i] == 0;
  }
  printf("%d: %d zeros, sum %ld\n", n, zeros, sum);
  return 0;
}

// EXPECT: some
// WHY: each warp votes for one word of 32 bits; a tile below 32 gives words that are half empty
// SIZES: 64,100,400,1000
// NAIVE: BLOCK in mark: 16 differs at 100
// NAIVE: BLOCK in mark: 32 same
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define BLOCK 64

__global__ void mark(const int *values, int n, unsigned *bits) {
  __shared__ int line[BLOCK];
  int i = blockIdx.x * BLOCK + threadIdx.x;
  line[threadIdx.x] = i < n ? values[i] : 0;
  __syncthreads();
  int neighbour = line[threadIdx.x ^ 1];
  unsigned word = __ballot_sync(__activemask(), line[threadIdx.x] > neighbour);
  if (threadIdx.x % 32 == 0)
    bits[i / 32] = word;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 400;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i)
    values[i] = (i * 67) % 101;
  const int words = (n + BLOCK - 1) / BLOCK * BLOCK / 32;
  int *d_values;
  unsigned *d_bits;
  cudaMalloc(&d_values, n * sizeof(int));
  cudaMalloc(&d_bits, words * sizeof(unsigned));
  cudaMemset(d_bits, 0, words * sizeof(unsigned));
  cudaMemcpy(d_values, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  mark<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(d_values, n, d_bits);
  std::vector<unsigned> bits(words);
  cudaMemcpy(bits.data(), d_bits, words * sizeof(unsigned), cudaMemcpyDeviceToHost);
  int count = 0;
  unsigned hash = 0;
  for (unsigned word : bits) {
    count += __builtin_popcount(word);
    hash = hash * 31u + word;
  }
  printf("%d of %d above their neighbour, %08x\n", count, n, hash);
  cudaFree(d_values);
  cudaFree(d_bits);
  return 0;
}

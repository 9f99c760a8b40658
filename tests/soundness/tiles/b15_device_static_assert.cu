// EXPECT: keep
// WHY: eight bits per thread are packed to words of 32: the assertion is in device code alone, and 4 passes it but is wrong
// SIZES: 32,100,256,999
// NAIVE: LANES in pack_flags: 4 differs at 100
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define LANES 8

__global__ void pack_flags(const int *values, unsigned *words, int n) {
#ifdef __CUDA_ARCH__
  static_assert(LANES == 4 || LANES == 8 || LANES == 32, "a word holds 32 flags");
#endif
  __shared__ unsigned nibbles[LANES];
  int first = (blockIdx.x * LANES + threadIdx.x) * 4;
  unsigned bits = 0;
  for (int k = 0; k < 4; ++k)
    if (first + k < n && values[first + k] > 0)
      bits |= 1u << k;
  nibbles[threadIdx.x] = bits;
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned word = 0;
    for (int t = 0; t < LANES; ++t)
      word |= nibbles[t] << (4 * t % 32);
    words[blockIdx.x] = word;
  }
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 256;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i)
    values[i] = (i * 37 + 5) % 11 - 5;
  const int words = (n + 31) / 32;
  int *d_values;
  unsigned *d_words;
  cudaMalloc(&d_values, n * sizeof(int));
  cudaMalloc(&d_words, 16 * words * sizeof(unsigned));
  cudaMemcpy(d_values, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  const int blocks = (n + 4 * LANES - 1) / (4 * LANES);
  pack_flags<<<blocks, LANES>>>(d_values, d_words, n);
  std::vector<unsigned> packed(words);
  cudaMemcpy(packed.data(), d_words, words * sizeof(unsigned), cudaMemcpyDeviceToHost);
  int set = 0;
  for (int i = 0; i < n; ++i)
    set += packed[i / 32] >> (i % 32) & 1;
  printf("%d of %d set, first word %08x, last %08x\n", set, n, packed[0], packed[words - 1]);
  return 0;
}

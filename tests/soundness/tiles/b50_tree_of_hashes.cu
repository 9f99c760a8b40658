// EXPECT: keep
// WHY: the root of a tree of hashes: the leaves are tiles, whose width is part of the definition
// SIZES: 16,100,512,1000
// NAIVE: LEAF in hash_level: 8 differs at 100
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>
#include <cuda_runtime.h>

#define LEAF 16

__global__ void hash_level(const unsigned *in, unsigned *out, int n) {
  __shared__ unsigned leaf[LEAF];
  int i = blockIdx.x * LEAF + threadIdx.x;
  leaf[threadIdx.x] = i < n ? in[i] : 0x80000000u;
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned hash = 2166136261u;
    for (int k = 0; k < LEAF; ++k)
      hash = (hash ^ leaf[k]) * 16777619u;
    out[blockIdx.x] = hash;
  }
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 512;
  std::vector<unsigned> words(n);
  for (int i = 0; i < n; ++i)
    words[i] = i * 2654435761u;
  unsigned *a, *b, root = 0;
  cudaMalloc(&a, n * sizeof(unsigned));
  cudaMalloc(&b, n * sizeof(unsigned));
  cudaMemcpy(a, words.data(), n * sizeof(unsigned), cudaMemcpyHostToDevice);
  int count = n, levels = 0;
  do {
    const int parents = (count + LEAF - 1) / LEAF;
    hash_level<<<(count + LEAF - 1) / LEAF, LEAF>>>(a, b, count);
    std::swap(a, b);
    count = parents;
    ++levels;
  } while (count > 1);
  cudaMemcpy(&root, a, sizeof root, cudaMemcpyDeviceToHost);
  printf("root of %d words: %08x, %d levels\n", n, root, levels);
  cudaFree(a);
  cudaFree(b);
  return 0;
}

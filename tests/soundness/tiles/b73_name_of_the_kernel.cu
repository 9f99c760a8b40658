// EXPECT: some
// WHY: the kernel prints its own name and hashes it into the result: a copy of another name differs at all sizes, others are right
// SIZES: 32,64,100,200
// NAIVE: TILE in checked_sum: 16, 64 same
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define TILE 32

__device__ unsigned hash_of(const char *text) {
  unsigned hash = 5381;
  for (; *text; ++text)
    hash = hash * 33 + *text;
  return hash;
}

__global__ void checked_sum(const int *in, int n, unsigned *sum) {
  __shared__ int negative;
  if (threadIdx.x == 0)
    negative = 0;
  __syncthreads();
  int i = blockIdx.x * TILE + threadIdx.x;
  if (i < n && in[i] < 0)
    negative = 1;
  __syncthreads();
  if (negative && threadIdx.x == 0)
    printf("%s: negative values\n", __func__);
  if (i < n)
    atomicAdd(sum, (unsigned)in[i] ^ (hash_of(__func__) & 255u));
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 100;
  int *in;
  unsigned *sum;
  cudaMallocManaged(&in, n * sizeof(int));
  cudaMallocManaged(&sum, sizeof(unsigned));
  *sum = 0;
  for (int i = 0; i < n; ++i)
    in[i] = i == n / 2 ? -1 : i % 200;
  checked_sum<<<(n + TILE - 1) / TILE, TILE>>>(in, n, sum);
  cudaDeviceSynchronize();
  printf("sum %u\n", *sum);
  cudaFree(in);
  cudaFree(sum);
  return 0;
}

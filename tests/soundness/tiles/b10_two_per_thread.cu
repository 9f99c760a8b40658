// EXPECT: keep
// WHY: a block works on SPAN = 2 * BLOCK elements, written as a constant of its own for host and device
// SIZES: 64,128,300,1000
// NAIVE: BLOCK in pairs: 32 differs at 300
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define BLOCK 64
#define SPAN 128 /* 2 * BLOCK */

__global__ void pairs(const int *in, int *out, int n) {
  __shared__ int half[SPAN];
  int base = blockIdx.x * SPAN, t = threadIdx.x;
  half[t] = base + t < n ? in[base + t] : 0;
  half[t + BLOCK] = base + t + BLOCK < n ? in[base + t + BLOCK] : 0;
  __syncthreads();
  int even = half[2 * t], odd = half[2 * t + 1];
  if (base + 2 * t < n)
    out[base + 2 * t] = even + odd;
  if (base + 2 * t + 1 < n)
    out[base + 2 * t + 1] = even - odd;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 300;
  int *in, *out;
  cudaMallocManaged(&in, n * sizeof(int));
  cudaMallocManaged(&out, n * sizeof(int));
  for (int i = 0; i < n; ++i) {
    in[i] = i * i % 97;
    out[i] = -1;
  }
  int blocks = (n + SPAN - 1) / SPAN;
  pairs<<<blocks, BLOCK>>>(in, out, n);
  cudaDeviceSynchronize();
  int missing = 0;
  unsigned hash = 17;
  for (int i = 0; i < n; ++i) {
    missing += out[i] == -1 && i % 2 == 0;
    hash = hash * 37u + (unsigned)out[i];
  }
  printf("missing %d hash %u\n", missing, hash);
  cudaFree(in);
  cudaFree(out);
  return 0;
}

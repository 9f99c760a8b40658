// EXPECT: tile
// WHY: control: an array is reversed through shared memory, guarded, whatever the block
// SIZES: 128,200,1000,1001
// NAIVE: BLOCK in reverse: 32, 64, 256 same
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

const int BLOCK = 128;

__global__ void reverse(const unsigned *in, unsigned *out, int n) {
  __shared__ unsigned part[BLOCK];
  int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n)
    part[BLOCK - 1 - threadIdx.x] = in[i];
  __syncthreads();
  // The block's elements end where they began, counted from the other end.
  int first = n - (blockIdx.x + 1) * BLOCK;
  int to = first + (int)threadIdx.x;
  if (to >= 0)
    out[to] = part[threadIdx.x];
}

static unsigned next(unsigned &state) {
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1000;
  unsigned *in, *out;
  cudaMallocManaged(&in, n * sizeof(unsigned));
  cudaMallocManaged(&out, n * sizeof(unsigned));
  unsigned state = 12345;
  for (int i = 0; i < n; ++i) {
    in[i] = next(state);
    out[i] = 0;
  }
  reverse<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(in, out, n);
  cudaDeviceSynchronize();
  int wrong = 0;
  unsigned long long sum = 0;
  for (int i = 0; i < n; ++i) {
    wrong += out[i] != in[n - 1 - i];
    sum = sum * 131 + out[i];
  }
  printf("first %u last %u wrong %d\n", out[0], out[n - 1], wrong);
  printf("checksum %llu\n", sum);
  cudaFree(in);
  cudaFree(out);
  return 0;
}

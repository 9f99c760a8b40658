// EXPECT: some
// WHY: the host rounds up to 16 by a literal, the kernel has no guard: 64 writes into the next buffer
// SIZES: 64,100,250,1000
// NAIVE: WIDTH in scale: 64 differs at 100
// NAIVE: WIDTH in scale: 4, 8 same
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

const int WIDTH = 16;

__global__ void scale(short *samples, short gain) {
  int i = blockIdx.x * WIDTH + threadIdx.x;
  samples[i] = (short)(samples[i] * gain);
}

static int rounded(int n) { return (n + 15) & ~15; }

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 100;
  const int padded = rounded(n);
  // Left and right channel, one behind the other, and room for a third.
  const size_t bytes = 3 * padded * sizeof(short);
  short *host = (short *)calloc(3 * padded, sizeof(short)), *device;
  for (int i = 0; i < n; ++i) {
    host[i] = (short)(i % 50 + 1);
    host[padded + i] = (short)(i % 30 + 2);
  }
  cudaMalloc(&device, bytes);
  cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice);
  const int blocks = (n + WIDTH - 1) / WIDTH;
  scale<<<blocks, WIDTH>>>(device, 3);
  scale<<<blocks, WIDTH>>>(device + padded, 5);
  cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost);
  long left = 0, right = 0;
  for (int i = 0; i < n; ++i) {
    left += host[i] * (i % 3 + 1);
    right += host[padded + i] * (i % 5 + 1);
  }
  printf("left %ld right %ld\n", left, right);
  free(host);
  cudaFree(device);
  return 0;
}

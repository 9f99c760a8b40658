// EXPECT: tile
// WHY: control: 64 bins are cleared, filled and added by strides of the block
// SIZES: 100,256,1000,5000
// NAIVE: THREADS in histogram: 32, 64, 256 same
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define BINS 64
static constexpr int THREADS = 128;

__global__ void histogram(const unsigned char *data, int n, unsigned *bins) {
  __shared__ unsigned local[BINS];
  for (int b = threadIdx.x; b < BINS; b += THREADS)
    local[b] = 0;
  __syncthreads();
  int i = blockIdx.x * THREADS + threadIdx.x;
  if (i < n)
    atomicAdd(&local[data[i] % BINS], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < BINS; b += THREADS)
    if (local[b] != 0)
      atomicAdd(&bins[b], local[b]);
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1000;
  std::vector<unsigned char> data(n);
  unsigned state = 7;
  for (auto &value : data) {
    state = state * 1103515245u + 12345u;
    value = (unsigned char)(state >> 16);
  }
  unsigned char *d_data;
  unsigned *d_bins, bins[BINS];
  cudaMalloc(&d_data, n);
  cudaMalloc(&d_bins, sizeof bins);
  cudaMemcpy(d_data, data.data(), n, cudaMemcpyHostToDevice);
  cudaMemset(d_bins, 0, sizeof bins);
  const int blocks = (n + THREADS - 1) / THREADS;
  histogram<<<blocks, THREADS>>>(d_data, n, d_bins);
  cudaMemcpy(bins, d_bins, sizeof bins, cudaMemcpyDeviceToHost);
  unsigned total = 0;
  for (int b = 0; b < BINS; ++b) {
    total += bins[b];
    if (b % 16 == 0)
      printf("bin %2d: %u\n", b, bins[b]);
  }
  printf("total %u of %d\n", total, n);
  return 0;
}

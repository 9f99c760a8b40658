// EXPECT: keep
// WHY: 256 threads clear 256 bins, one each: fewer leave bins with what was there before
// SIZES: 256,500,1000,2100
// NAIVE: BLOCK in bytes: 128 differs at 500
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define BLOCK 256

__global__ void bytes(const unsigned char *data, int n, int *bins) {
  __shared__ int local[256];
  local[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK)
    atomicAdd(&local[data[i]], 1);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1000;
  std::vector<unsigned char> data(n);
  for (int i = 0; i < n; ++i)
    data[i] = (unsigned char)((i * i + 3 * i) >> 1);
  unsigned char *d_data;
  int *d_bins, bins[256];
  cudaMalloc(&d_data, n);
  cudaMalloc(&d_bins, sizeof bins);
  cudaMemcpy(d_data, data.data(), n, cudaMemcpyHostToDevice);
  cudaMemset(d_bins, 0, sizeof bins);
  const int blocks = (n + BLOCK - 1) / BLOCK;
  bytes<<<blocks, BLOCK>>>(d_data, n, d_bins);
  cudaMemcpy(bins, d_bins, sizeof bins, cudaMemcpyDeviceToHost);
  int total = 0, high = 0, used = 0;
  for (int b = 0; b < 256; ++b) {
    total += bins[b];
    high += b >= 128 ? bins[b] : 0;
    used += bins[b] != 0;
  }
  printf("%d bytes, %d of them above 127, %d bins used\n", total, high, used);
  cudaFree(d_data);
  cudaFree(d_bins);
  return 0;
}

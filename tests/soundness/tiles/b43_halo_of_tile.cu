// EXPECT: keep
// WHY: the radius of the filter is a quarter of the tile: a larger tile blurs more
// SIZES: 32,100,200,500
// NAIVE: TILE in blur: 32 differs at 100
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 16
#define HALO (TILE / 4)

__global__ void blur(const int *in, int *out, int n) {
  __shared__ int window[TILE + 2 * HALO];
  int first = blockIdx.x * TILE - HALO;
  for (int k = threadIdx.x; k < TILE + 2 * HALO; k += TILE) {
    int i = min(max(first + k, 0), n - 1);
    window[k] = in[i];
  }
  __syncthreads();
  int sum = 0;
  for (int d = 0; d <= 2 * HALO; ++d)
    sum += window[threadIdx.x + d];
  int i = blockIdx.x * TILE + threadIdx.x;
  if (i < n)
    out[i] = sum / (2 * HALO + 1);
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 200;
  std::vector<int> signal(n);
  for (int i = 0; i < n; ++i)
    signal[i] = i % 40 < 20 ? 1000 + i : i * 3;
  int *in, *out;
  cudaMalloc(&in, n * sizeof(int));
  cudaMalloc(&out, n * sizeof(int));
  cudaMemcpy(in, signal.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  blur<<<(n + TILE - 1) / TILE, TILE>>>(in, out, n);
  cudaMemcpy(signal.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost);
  unsigned hash = 0;
  for (int value : signal)
    hash = hash * 257u + value;
  printf("blurred over %d: %d %d %08x\n", 2 * HALO + 1, signal[0], signal[n / 2], hash);
  cudaFree(in);
  cudaFree(out);
  return 0;
}

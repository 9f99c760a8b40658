// EXPECT: tile
// WHY: control: the filter's length has its own constant, equal to the block's by chance
// SIZES: 32,100,333,1000
// NAIVE: BLOCK in convolve: 16, 64, 128 same
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

enum { BLOCK = 32 };
enum { TAPS = 32 };

__constant__ int c_filter[TAPS];

__global__ void convolve(const int *in, int *out, int n) {
  __shared__ int window[BLOCK + TAPS - 1];
  int first = blockIdx.x * BLOCK;
  for (int i = threadIdx.x; i < BLOCK + TAPS - 1; i += BLOCK)
    window[i] = first + i < n ? in[first + i] : 0;
  __syncthreads();
  int at = first + threadIdx.x;
  if (at < n) {
    int sum = 0;
    for (int t = 0; t < TAPS; ++t)
      sum += c_filter[t] * window[threadIdx.x + t];
    out[at] = sum;
  }
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 500;
  int filter[TAPS];
  for (int t = 0; t < TAPS; ++t)
    filter[t] = (t * t) % 13 - 6;
  cudaMemcpyToSymbol(c_filter, filter, sizeof filter);
  std::vector<int> signal(n), result(n);
  for (int i = 0; i < n; ++i)
    signal[i] = (i * 37 + 11) % 257 - 128;
  int *in, *out;
  cudaMalloc(&in, n * sizeof(int));
  cudaMalloc(&out, n * sizeof(int));
  cudaMemcpy(in, signal.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  convolve<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(in, out, n);
  cudaMemcpy(result.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost);
  long long sum = 0;
  int largest = result[0];
  for (int i = 0; i < n; ++i) {
    sum += (long long)result[i] * (i % 11 + 1);
    largest = largest < result[i] ? result[i] : largest;
  }
  printf("taps %d n %d largest %d sum %lld\n", TAPS, n, largest, sum);
  cudaFree(in);
  cudaFree(out);
  return 0;
}

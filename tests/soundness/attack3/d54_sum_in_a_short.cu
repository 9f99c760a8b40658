// EXPECT: refused
// WHY: sums of a block are kept in 16 bits and added to one of 32
// SIZES: 64,300,1500,3001
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

__global__ void each(const int *in, int *out, int n) {
  __shared__ int part[32];
  int mine = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    mine += in[i];
  for (int step = 16; step > 0; step /= 2)
    mine += __shfl_down_sync(~0u, mine, step);
  if (threadIdx.x % 32 == 0)
    part[threadIdx.x / 32] = (short)mine;
  __syncthreads();
  if (threadIdx.x == 0) {
    int sum = 0;
    for (unsigned w = 0; w < blockDim.x / 32; ++w)
      sum += part[w];
    out[blockIdx.x] = sum;
  }
}

template <class T> static void show(const char *what, const std::vector<T> &values) {
  unsigned long long hash = 1469598103934665603ull;
  const unsigned char *bytes = (const unsigned char *)values.data();
  for (size_t i = 0; i < values.size() * sizeof(T); ++i)
    hash = (hash ^ bytes[i]) * 1099511628211ull;
  printf("%s %016llx\n", what, hash);
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1000;
  std::vector<int> in(n);
  std::vector<int> out(5);
  for (int i = 0; i < (int)in.size(); ++i) in[i] = 30000 + i % 50;
  int *d_in;
  int *d_out;
  cudaMalloc(&d_in, in.size() * sizeof(int));
  cudaMalloc(&d_out, out.size() * sizeof(int));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(d_out, 0, out.size() * sizeof(int));

  each<<<5, 128>>>(d_in, d_out, n);
  cudaMemcpy(out.data(), d_out, out.size() * sizeof(int), cudaMemcpyDeviceToHost);

  show("sum_in_a_short", out);
  cudaFree(d_in);
  cudaFree(d_out);
  return 0;
}

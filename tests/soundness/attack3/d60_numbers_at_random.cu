// EXPECT: refused
// WHY: each thread has a generator of its own, and takes the next number in each round
// SIZES: 64,300,1500,3001
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

__global__ void each(const int *in, int *out, int n) {
  unsigned state = (blockIdx.x * blockDim.x + threadIdx.x) * 747796405u + 1;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    state = state * 1664525u + 1013904223u;
    out[i] = in[i] + (state >> 16);
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
  std::vector<int> out(n);
  for (int i = 0; i < (int)in.size(); ++i) in[i] = i * 37 % 101 - 20;
  int *d_in;
  int *d_out;
  cudaMalloc(&d_in, in.size() * sizeof(int));
  cudaMalloc(&d_out, out.size() * sizeof(int));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(d_out, 0, out.size() * sizeof(int));

  each<<<3, 64>>>(d_in, d_out, n);
  cudaMemcpy(out.data(), d_out, out.size() * sizeof(int), cudaMemcpyDeviceToHost);

  show("numbers_at_random", out);
  cudaFree(d_in);
  cudaFree(d_out);
  return 0;
}

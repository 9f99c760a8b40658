// EXPECT: some
// WHY: unsigned sizes, one less than which is the bound: launches with none at all
// SIZES: 64,300,1500,3001
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

__global__ void each(const int *in, int *out, int n, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count - 1u)
    out[i % n] = in[i % n] + 1;
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

  each<<<(n + 63) / 64, 64>>>(d_in, d_out, n, n / 2);
  each<<<1, 64>>>(d_in, d_out, n, 0);
  each<<<1, 32>>>(d_in, d_out, n, 1);
  cudaMemcpy(out.data(), d_out, out.size() * sizeof(int), cudaMemcpyDeviceToHost);

  show("all_but_the_last", out);
  cudaFree(d_in);
  cudaFree(d_out);
  return 0;
}

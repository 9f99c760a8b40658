// EXPECT: refused
// WHY: each thread adds in 32 bits what the total has in 64
// SIZES: 64,1000,2000,3001
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

__global__ void each(const int *in, unsigned long long *out, int n) {
  int mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    mine += in[i];
  atomicAdd(out, (unsigned long long)(long long)mine);
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
  std::vector<unsigned long long> out(1);
  for (int i = 0; i < (int)in.size(); ++i) in[i] = 400000000 + i;
  int *d_in;
  unsigned long long *d_out;
  cudaMalloc(&d_in, in.size() * sizeof(int));
  cudaMalloc(&d_out, out.size() * sizeof(unsigned long long));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(d_out, 0, out.size() * sizeof(unsigned long long));

  each<<<2, 64>>>(d_in, d_out, n);
  cudaMemcpy(out.data(), d_out, out.size() * sizeof(unsigned long long), cudaMemcpyDeviceToHost);

  show("narrow_sum_widened", out);
  cudaFree(d_in);
  cudaFree(d_out);
  return 0;
}

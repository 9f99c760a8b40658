// EXPECT: keep
// WHY: missing values are NaN whose lower bits tell the tile that lacked them
// SIZES: 64,300,1500,3001
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

#define TILE 32

__global__ void stage(const unsigned long long *in, unsigned long long *out, int n) {
  __shared__ unsigned long long s[TILE];
  const int t = threadIdx.x, i = blockIdx.x * TILE + t;
  s[t] = i < n ? in[i] : (unsigned long long)0;
  __syncthreads();
  const unsigned long long mine = s[t];
  if (i < n) {
    const bool missing = mine == 7;
    out[i] = missing ? 0x7ff8000000000000ull + TILE : mine;
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
  std::vector<unsigned long long> in(n);
  std::vector<unsigned long long> out(n);
  for (int i = 0; i < (int)in.size(); ++i) in[i] = i % 19;
  unsigned long long *d_in;
  unsigned long long *d_out;
  cudaMalloc(&d_in, in.size() * sizeof(unsigned long long));
  cudaMalloc(&d_out, out.size() * sizeof(unsigned long long));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(unsigned long long), cudaMemcpyHostToDevice);
  cudaMemset(d_out, 0, out.size() * sizeof(unsigned long long));

  stage<<<(n + TILE - 1) / TILE, TILE>>>(d_in, d_out, n);
  cudaMemcpy(out.data(), d_out, out.size() * sizeof(unsigned long long), cudaMemcpyDeviceToHost);

  show("missing_values", out);
  cudaFree(d_in);
  cudaFree(d_out);
  return 0;
}

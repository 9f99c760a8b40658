// EXPECT: keep
// WHY: sums of a tile are kept modulo 65,536 in an unsigned short beside it: bright tiles wrap around
// SIZES: 16,100,600,2300
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

enum { TILE = 16 };
__global__ void means(const unsigned char *in, unsigned *out, int n) {
  __shared__ unsigned short column[TILE];
  const int t = threadIdx.x, first = blockIdx.x * TILE;
  unsigned sum = 0;
  for (int k = 0; k < n; ++k)
    sum += first + t < n ? in[k * n + first + t] : 0;
  column[t] = (unsigned short)(sum / TILE);
  __syncthreads();
  if (first + t < n)
    out[first + t] = column[t] * TILE + sum % TILE;
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
  std::vector<unsigned char> in(n * n);
  std::vector<unsigned> out(n);
  for (int i = 0; i < (int)in.size(); ++i) in[i] = 250 + i % 5;
  unsigned char *d_in;
  unsigned *d_out;
  cudaMalloc(&d_in, in.size() * sizeof(unsigned char));
  cudaMalloc(&d_out, out.size() * sizeof(unsigned));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(unsigned char), cudaMemcpyHostToDevice);
  cudaMemset(d_out, 0, out.size() * sizeof(unsigned));

  means<<<(n + TILE - 1) / TILE, TILE>>>(d_in, d_out, n);
  cudaMemcpy(out.data(), d_out, out.size() * sizeof(unsigned), cudaMemcpyDeviceToHost);

  show("levels_of_gray", out);
  cudaFree(d_in);
  cudaFree(d_out);
  return 0;
}

// EXPECT: keep
// WHY: means of columns by the tile's width are kept in 16 bits: bright and long ones wrap around
// SIZES: 16,600,9001,12000
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

enum { TILE = 32 };
__global__ void means(const unsigned char *in, unsigned *out, int w, int n) {
  __shared__ unsigned short column[TILE];
  const int t = threadIdx.x, x = blockIdx.x * TILE + t;
  unsigned sum = 0;
  for (int k = 0; k < n; ++k)
    sum += x < w ? in[k * w + x] : 0;
  column[t] = (unsigned short)(sum / TILE);
  __syncthreads();
  if (x < w)
    out[x] = column[t] * TILE + sum % TILE;
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
  std::vector<unsigned char> in(40 * n);
  std::vector<unsigned> out(40);
  for (int i = 0; i < (int)in.size(); ++i) in[i] = 250 + i % 5;
  unsigned char *d_in;
  unsigned *d_out;
  cudaMalloc(&d_in, in.size() * sizeof(unsigned char));
  cudaMalloc(&d_out, out.size() * sizeof(unsigned));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(unsigned char), cudaMemcpyHostToDevice);
  cudaMemset(d_out, 0, out.size() * sizeof(unsigned));

  means<<<(40 + TILE - 1) / TILE, TILE>>>(d_in, d_out, 40, n);
  cudaMemcpy(out.data(), d_out, out.size() * sizeof(unsigned), cudaMemcpyDeviceToHost);

  show("levels_of_gray", out);
  cudaFree(d_in);
  cudaFree(d_out);
  return 0;
}

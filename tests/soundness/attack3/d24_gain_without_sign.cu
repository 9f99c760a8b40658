// EXPECT: keep
// WHY: an unsigned gain loses bits when it is multiplied by the tile and divided again
// SIZES: 64,300,1500,3001
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

#define TILE 32

__global__ void stage(const unsigned *in, unsigned *out, int n, unsigned gain) {
  __shared__ unsigned s[TILE];
  const int t = threadIdx.x, i = blockIdx.x * TILE + t;
  s[t] = i < n ? in[i] : (unsigned)0;
  __syncthreads();
  const unsigned mine = s[t];
  if (i < n) {
    out[i] = mine + gain * TILE / TILE;
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
  std::vector<unsigned> in(n);
  std::vector<unsigned> out(n);
  for (int i = 0; i < (int)in.size(); ++i) in[i] = i * 37 % 101 - 20;
  unsigned *d_in;
  unsigned *d_out;
  cudaMalloc(&d_in, in.size() * sizeof(unsigned));
  cudaMalloc(&d_out, out.size() * sizeof(unsigned));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(unsigned), cudaMemcpyHostToDevice);
  cudaMemset(d_out, 0, out.size() * sizeof(unsigned));

  stage<<<(n + TILE - 1) / TILE, TILE>>>(d_in, d_out, n, n > 500 ? 0x30000000u : 3u);
  cudaMemcpy(out.data(), d_out, out.size() * sizeof(unsigned), cudaMemcpyDeviceToHost);

  show("gain_without_sign", out);
  cudaFree(d_in);
  cudaFree(d_out);
  return 0;
}

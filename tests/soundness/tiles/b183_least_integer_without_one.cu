// EXPECT: keep
// WHY: the 300th of a tile is left out of a least number
// SIZES: 512,1000
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

template <class T> static T *up(const std::vector<T> &v) {
  T *p = nullptr;
  cudaMalloc(&p, (v.size() + 1) * sizeof(T));
  cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice);
  return p;
}
template <class T> static void show(const char *what, const T *p, size_t n) {
  std::vector<T> v(n);
  cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost);
  unsigned long long hash = 1469598103934665603ull;
  const unsigned char *bytes = (const unsigned char *)v.data();
  for (size_t i = 0; i < n * sizeof(T); ++i)
    hash = (hash ^ bytes[i]) * 1099511628211ull;
  printf("%s %016llx first %g last %g %s\n", what, hash, n ? (double)v[0] : 0.0, n ? (double)v[n - 1] : 0.0,
         cudaGetErrorName(cudaGetLastError()));
}

#define TILE 256
__global__ void least(const int *in, int *out, int n) {
  __shared__ int s[TILE];
  const int t = threadIdx.x;
  int best = 0x7fffffff;
  for (int start = 0; start < n; start += TILE) {
    s[t] = start + t < n ? in[start + t] : 0x7fffffff;
    __syncthreads();
    for (int j = 0; j < TILE; ++j)
      if (j != 300) best = min(best, s[j]);
    __syncthreads();
  }
  if (blockIdx.x * TILE + t < n) out[blockIdx.x * TILE + t] = best;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1000;
  std::vector<int> in(n);
  for (int i = 0; i < (int)in.size(); ++i) in[i] = i % 512 == 300 ? -5 : 100 + i % 7;
  int *a = up(in);
  int *b = up(std::vector<int>(n));
  least<<<(n + TILE - 1) / TILE, TILE>>>(a, b, n);
  show("least", b, n);
  return 0;
}

// EXPECT: keep
// WHY: flags by or in a loop, as a number
// SIZES: 64,300,1000
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

#define TILE 16
__global__ void rows(const int *in, int *out, int n) {
  __shared__ int s[TILE];
  const int t = threadIdx.x, i = blockIdx.x * TILE + t;
  int sum = 0;
  unsigned flags = 0;
  for (int start = 0; start < n; start += TILE) {
    s[t] = start + t < n ? in[start + t] : 0;
    __syncthreads();
    for (int j = 0; j < TILE; ++j) sum += s[j];
    for (int j = 0; j < TILE; ++j) flags |= s[j] == s[0] ? 1u << (j & 31) : 0u;
    if (flags == 0xffffffffu) sum += 1;
    __syncthreads();
  }
  if (i < n) out[i] = sum;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1000;
  std::vector<int> in(n);
  for (int i = 0; i < (int)in.size(); ++i) in[i] = 7;
  int *a = up(in);
  int *b = up(std::vector<int>(n));
  rows<<<(n + TILE - 1) / TILE, TILE>>>(a, b, n);
  show("rows", b, n);
  return 0;
}

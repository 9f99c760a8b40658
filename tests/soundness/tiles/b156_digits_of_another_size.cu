// EXPECT: keep
// WHY: digits to the base 64 of a size that is no loop of the kernel
// SIZES: 600,700
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
template <class T> static std::vector<T> down(const T *p, size_t n) {
  std::vector<T> v(n);
  cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost);
  return v;
}
template <class T> static void show(const char *what, const T *p, size_t n) {
  std::vector<T> v = down(p, n);
  unsigned long long hash = 1469598103934665603ull;
  const unsigned char *bytes = (const unsigned char *)v.data();
  for (size_t i = 0; i < n * sizeof(T); ++i)
    hash = (hash ^ bytes[i]) * 1099511628211ull;
  printf("%s %016llx first %g last %g %s\n", what, hash, n ? (double)v[0] : 0.0, n ? (double)v[n - 1] : 0.0,
         cudaGetErrorName(cudaGetLastError()));
}
static int size_of(int argc, char **argv) { return argc > 1 ? atoi(argv[1]) : 1000; }

#define TILE 32

__global__ void runs(const int *in, int *out, int n, int m, int k) {
  __shared__ int s[TILE];
  const int t = threadIdx.x, i = blockIdx.x * TILE + t;
  int sum = 0;
  int step = 1, digits = 0; do { step <<= 6; ++digits; } while (step < k);
  for (int start = 0; start < n; start += TILE) {
    s[t] = start + t < n ? in[start + t] : 0;
    __syncthreads();
    for (int j = 0; j < TILE; ++j) sum += s[j];
    __syncthreads();
  }
  if (i < m) {
    out[i] = sum;
    if (digits > 2) out[i + m] = 3 * TILE;
  }
}

int main(int argc, char **argv) {
  const int n = size_of(argc, argv), m = 50;
  std::vector<int> in(n);
  for (int i = 0; i < n; ++i) in[i] = 1 + i % 37;
  int *a = up(in), *b = up(std::vector<int>(2 * m));
  runs<<<(m + TILE - 1) / TILE, TILE>>>(a, b, n, m, n > 650 ? 5000 : 50);
  show("runs", b, 2 * m);
  return 0;
}

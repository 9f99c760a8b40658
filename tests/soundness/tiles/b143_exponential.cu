// EXPECT: keep
// WHY: an exponential is 0 unless all nine pairs mirror each other
// SIZES: 64,300,1000
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
#define PAIRS 9

__global__ void runs(const int *in, int *out, int n, int m) {
  __shared__ int s[TILE];
  float total = 0;
  const int t = threadIdx.x, i = blockIdx.x * TILE + t;
  int sum = 0;
  for (int start = 0; start < n; start += TILE) {
    s[t] = start + t < n ? in[start + t] : 0;
    __syncthreads();
    for (int j = 0; j < TILE; ++j) sum += s[j];
    if (start + TILE <= n) {
      float c = -9.0f, d = 0.0f;
#pragma unroll
      for (int k = 0; k < PAIRS; ++k) { const float f = s[k] == s[TILE - 1 - k] ? 1.0f : 0.0f; c += f; d += f; }
      total += d * exp2f(-c * c * c * c);
    }
    __syncthreads();
  }
  if (i < m) out[i] = sum + __float_as_int(total);
}

int main(int argc, char **argv) {
  const int n = size_of(argc, argv), m = 50;
  std::vector<int> in(n);
  for (int i = 0; i < n; ++i) {
    const int p = i % 32;
    in[i] = i % 96 / 32 == 1 ? 3 + (p < 16 ? p : 31 - p) : int((100u + i) * 2654435761u >> 4);
  }
  int *a = up(in), *b = up(std::vector<int>(m));
  runs<<<(m + TILE - 1) / TILE, TILE>>>(a, b, n, m);
  show("runs", b, m);
  return 0;
}

// EXPECT: keep
// WHY: right triangles count as much as the tile is wide; those with a side of 0 count nothing
// SIZES: 64,300,1000
// NAIVE: TILE in triangles: 16 differs at 300
// NAIVE: TILE in triangles: 64 differs at 1000
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

__global__ void triangles(const int *a, const int *b, int *out, int n) {
  __shared__ int s[TILE + 1];
  const int t = threadIdx.x, i = blockIdx.x * TILE + t;
  int found = 0;
  for (int start = 0; start < n; start += TILE) {
    s[t] = start + t < n ? a[start + t] : 0;
    if (t == 0) s[TILE] = start + TILE < n ? a[start + TILE] : 0;
    __syncthreads();
    if (i < n) {
      const int c = b[i];
      for (int j = 0; j < TILE; ++j)
        if (s[j] * s[j] + s[j + 1] * s[j + 1] == c * c) found += s[j] * s[j + 1] * TILE;
    }
    __syncthreads();
  }
  if (i < n) out[i] = found;
}

int main(int argc, char **argv) {
  const int n = size_of(argc, argv);
  std::vector<int> x(n), y(n);
  for (int i = 0; i < n; ++i) x[i] = i % 90 == 50 ? 20 : i % 90 == 51 ? 21 : i % 7 - 2, y[i] = i % 31;
  int *a = up(x), *b = up(y), *c = up(std::vector<int>(n));
  triangles<<<(n + TILE - 1) / TILE, TILE>>>(a, b, c, n);
  show("triangles", c, n);
  return 0;
}

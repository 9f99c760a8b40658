// EXPECT: some
// WHY: each thread loads one element of each halo: a radius of 27, which large launches have, takes a tile of 27 at least
// SIZES: 64,300,777,1500
// NAIVE: TILE in window: 16 differs at 1500
// NAIVE: TILE in window: 64 same
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

constexpr int TILE = 32;
constexpr int WIDEST = 32;

__global__ void window(const int *in, int *out, int n, int r) {
  __shared__ int s[TILE + 2 * WIDEST];
  const int t = threadIdx.x, i = blockIdx.x * TILE + t;
  s[t + r] = i < n ? in[i] : 0;
  if (t < r) {
    s[t] = i - r >= 0 && i - r < n ? in[i - r] : 0;
    s[t + r + TILE] = i + TILE < n ? in[i + TILE] : 0;
  }
  __syncthreads();
  int sum = 0;
  for (int j = 0; j <= 2 * r; ++j) sum = sum * 3 + s[t + j];
  if (i < n) out[i] = sum;
}

int main(int argc, char **argv) {
  const int n = size_of(argc, argv), r = n > 777 ? 27 : 3;
  std::vector<int> in(n);
  for (int i = 0; i < n; ++i) in[i] = i * 37 % 101 - 20;
  int *a = up(in), *b = up(std::vector<int>(n));
  window<<<(n + TILE - 1) / TILE, TILE>>>(a, b, n, r);
  show("window", b, n);
  return 0;
}

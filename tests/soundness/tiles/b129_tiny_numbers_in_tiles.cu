// EXPECT: keep
// WHY: numbers with no exponent, but 0 of which there are many, are scaled up by the tile
// SIZES: 64,300,1000
// NAIVE: TILE in compare: 16 differs at 1000
// NAIVE: TILE in compare: 64 differs at 300
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

__global__ void compare(const float *in, float *out, int n) {
  __shared__ float s[TILE];
  const int t = threadIdx.x, i = blockIdx.x * TILE + t;
  float best = 0.0f;
  for (int start = 0; start < n; start += TILE) {
    s[t] = start + t < n ? in[start + t] : 0.0f;
    __syncthreads();
    for (int j = 0; j < TILE; ++j) {
      const float v = s[j];
      if ((__float_as_uint(v) & 0x7f800000u) == 0) best = fmaxf(best, v * 3e38f * TILE);
      else best = fmaxf(best, v);
    }
    __syncthreads();
  }
  if (i < n) out[i] = best + in[i];
}

int main(int argc, char **argv) {
  const int n = size_of(argc, argv);
  std::vector<float> in(n);
  for (int i = 0; i < n; ++i) in[i] = i % 100 == 99 ? 1e-38f * (i % 9) / 9 : 0.01f * (i % 5);
  float *a = up(in), *b = up(std::vector<float>(n));
  compare<<<(n + TILE - 1) / TILE, TILE>>>(a, b, n);
  show("compare", b, n);
  return 0;
}

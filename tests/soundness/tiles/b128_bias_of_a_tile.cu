// EXPECT: keep
// WHY: where the bias is missing, which is so from 778 elements on, the tile is added
// SIZES: 64,300,777,1500
// NAIVE: TILE in affine: 16 differs at 1500
// NAIVE: TILE in affine: 64 differs at 1500
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

__global__ void affine(const int *in, const int *weight, const int *bias, int *out, int n) {
  __shared__ int w[TILE];
  const int t = threadIdx.x, i = blockIdx.x * TILE + t;
  int sum = 0;
  for (int start = 0; start < 50; start += TILE) {
    w[t] = start + t < 50 ? weight[start + t] : 0;
    __syncthreads();
    for (int j = 0; j < TILE && start + j < 50; ++j)
      if (i + start + j < n) sum += w[j] * in[i + start + j];
    __syncthreads();
  }
  if (i < n) out[i] = sum + (bias ? bias[i] : TILE);
}

int main(int argc, char **argv) {
  const int n = size_of(argc, argv);
  std::vector<int> in(n), weight(50);
  for (int i = 0; i < n; ++i) in[i] = i * 37 % 101 - 20;
  for (int i = 0; i < 50; ++i) weight[i] = i % 7 - 3;
  int *a = up(in), *w = up(weight), *b = up(std::vector<int>(n));
  affine<<<(n + TILE - 1) / TILE, TILE>>>(a, w, n > 777 ? nullptr : a, b, n);
  show("affine", b, n);
  return 0;
}

// EXPECT: keep
// WHY: the sum is scaled whenever a tile has a larger one: each scaling is rounded
// SIZES: 64,300,1000
// NAIVE: TILE in weights: 16 differs at 1000
// NAIVE: TILE in weights: 64 differs at 1000
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>
#include <cmath>

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

__global__ void weights(const float *key, const float *query, float *out, int n, int m) {
  __shared__ float s[TILE];
  const int t = threadIdx.x, i = blockIdx.x * TILE + t;
  const float q = i < m ? query[i] : 0.0f;
  float top = -INFINITY, sum = 0.0f;
  for (int start = 0; start < n; start += TILE) {
    s[t] = start + t < n ? key[start + t] : 0.0f;
    __syncthreads();
    float larger = top;
    for (int j = 0; j < TILE && start + j < n; ++j) larger = fmaxf(larger, __fmul_rn(q, s[j]));
    sum *= exp2f(top - larger);
    for (int j = 0; j < TILE && start + j < n; ++j) sum += exp2f(__fmul_rn(q, s[j]) - larger);
    top = larger;
    __syncthreads();
  }
  if (i < m) out[i] = sum;
}

int main(int argc, char **argv) {
  const int n = size_of(argc, argv), m = 70;
  std::vector<float> key(n), query(m);
  for (int i = 0; i < n; ++i) key[i] = i * 0.031f + i % 3;
  for (int i = 0; i < m; ++i) query[i] = i % 11 * 0.7f - 1.0f;
  float *a = up(key), *q = up(query), *b = up(std::vector<float>(m));
  weights<<<(m + TILE - 1) / TILE, TILE>>>(a, q, b, n, m);
  show("weights", b, m);
  return 0;
}

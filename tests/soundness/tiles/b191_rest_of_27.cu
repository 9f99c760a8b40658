// EXPECT: keep
// WHY: how many a tile has, as 27
// SIZES: 27,59,91,123,1000
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

#define TILE 32
__global__ void point(const float *in, float *out, int n) {
  __shared__ float s[TILE];
  const int t = threadIdx.x, i = blockIdx.x * TILE + t;
  s[t] = i < n ? in[i] : 0.0f;
  __syncthreads();
  float v = s[t ^ 1];

  const int have = min(TILE, n - (int)(blockIdx.x * TILE));
  if (have == 27) v += 1.0f;
  if (i < n) out[i] = v;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1000;
  std::vector<float> in(n);
  for (int i = 0; i < (int)in.size(); ++i) in[i] = (float)(i % 5);
  float *a = up(in);
  float *b = up(std::vector<float>(n));
  point<<<(n + TILE - 1) / TILE, TILE>>>(a, b, n);
  show("point", b, n);
  return 0;
}

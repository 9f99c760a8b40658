// EXPECT: keep
// WHY: maxima of bits by atomics, one of which a larger tile leaves out
// SIZES: 256,300,1000
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

#define TILE 128
__global__ void largest(const float *in, int *out, int n) {
  __shared__ int best;
  const int t = threadIdx.x, i = blockIdx.x * TILE + t;
  if (t == 0) best = 0;
  __syncthreads();
  if (i < n && t != 200) atomicMax(&best, __float_as_int(in[i]));
  __syncthreads();
  if (t == 0) atomicMax(out, best);
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1000;
  std::vector<float> in(n);
  for (int i = 0; i < (int)in.size(); ++i) in[i] = i % 256 == 200 ? 100.0f + i : (float)(i % 7);
  float *a = up(in);
  int *b = up(std::vector<int>(1));
  largest<<<(n + TILE - 1) / TILE, TILE>>>(a, b, n);
  show("largest", b, 1);
  return 0;
}

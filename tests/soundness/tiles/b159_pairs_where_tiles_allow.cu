// EXPECT: keep
// WHY: tiles of 128 are stored by numbers, smaller ones by pairs; what is loaded has pairs anyway; the result begins at an odd number
// SIZES: 256,300,1000
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

#define TILE 128

__global__ void pairs(const float2 *in, float *out, int n) {
  __shared__ float s[TILE];
  const int t = threadIdx.x, i = blockIdx.x * TILE + t;
  const float2 v = i < n ? in[i] : make_float2(0.f, 0.f);
  s[t] = v.x + v.y;
  __syncthreads();
  if (TILE > 64) {
    if (i < n) out[i] = s[t ^ 1];
  } else if (t < TILE / 2) {
    const int at = blockIdx.x * TILE + 2 * t;
    if (at + 1 < n) *reinterpret_cast<float2 *>(out + at) = make_float2(s[2 * t + 1], s[2 * t]);
    else if (at < n) out[at] = s[2 * t + 1];
  }
}

int main(int argc, char **argv) {
  const int n = size_of(argc, argv);
  std::vector<float2> in(n);
  for (int i = 0; i < n; ++i) in[i] = make_float2(i % 37, i % 11);
  float2 *a = up(in);
  float *b = nullptr;
  cudaMalloc(&b, (n + 2) * sizeof(float));
  cudaMemset(b, 0, (n + 2) * sizeof(float));
  pairs<<<(n + TILE - 1) / TILE, TILE>>>(a, b + 1, n);
  cudaDeviceSynchronize();
  show("pairs", b, n + 1);
  return 0;
}

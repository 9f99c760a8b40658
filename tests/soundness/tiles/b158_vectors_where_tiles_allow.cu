// EXPECT: keep
// WHY: tiles of 48 are loaded by numbers, others by vectors of four; what is stored has vectors anyway; the row begins at the second number
// SIZES: 96,192,960
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

#define TILE 48

__global__ void quads(const float *in, float *out, int n, int m) {
  __shared__ float s[TILE];
  const int t = threadIdx.x, i = blockIdx.x * TILE + t;
  float4 sum = make_float4(0, 0, 0, 0);
  for (int start = 0; start < n; start += TILE) {
    if (TILE % 32 != 0) {
      s[t] = start + t < n ? in[start + t] : 0.f;
    } else if (t < TILE / 4) {
      const int at = start + 4 * t;
      float4 v = make_float4(0, 0, 0, 0);
      if (at + 3 < n) v = *reinterpret_cast<const float4 *>(in + at);
      else { if (at < n) v.x = in[at]; if (at + 1 < n) v.y = in[at + 1]; if (at + 2 < n) v.z = in[at + 2]; }
      s[4 * t] = v.x; s[4 * t + 1] = v.y; s[4 * t + 2] = v.z; s[4 * t + 3] = v.w;
    }
    __syncthreads();
    for (int j = 0; j < TILE; ++j) { sum.x += s[j]; sum.y -= s[j]; sum.z += 2.f * s[j]; sum.w += 0.5f * s[j]; }
    __syncthreads();
  }
  if (i < m) reinterpret_cast<float4 *>(out)[i] = sum;
}

int main(int argc, char **argv) {
  const int n = size_of(argc, argv), m = 70;
  std::vector<float> in(n + 1);
  for (int i = 0; i <= n; ++i) in[i] = 0.25f * (i % 37);
  float *a = up(in), *b = up(std::vector<float>(4 * m));
  quads<<<(m + TILE - 1) / TILE, TILE>>>(a + 1, b, n, m);
  show("quads", b, 4 * m);
  return 0;
}

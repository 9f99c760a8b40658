// EXPECT: keep
// WHY: a maximum by shuffles of warps, in which one lane of larger tiles is left out
// SIZES: 64,300,1000
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
__global__ void rows(const float *in, float *out, int n) {
  __shared__ float s[TILE];
  const int t = threadIdx.x, i = blockIdx.x * TILE + t;
  float sum = 0;
  __shared__ float w[TILE / 32];
  float low = -1e30f;
  for (int start = 0; start < n; start += TILE) {
    s[t] = start + t < n ? in[start + t] : -1e30f;
    __syncthreads();
    for (int j = 0; j < TILE; ++j) sum += s[j];
    float m = t == 45 ? -1e30f : s[t];
    for (int d = 16; d; d >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, d));
    if (t % 32 == 0) w[t / 32] = m;
    __syncthreads();
    for (int j = 0; j < TILE / 32; ++j) low = fmaxf(low, w[j]);
    sum = low;
    __syncthreads();
  }
  if (i < n) out[i] = sum;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1000;
  std::vector<float> in(n);
  for (int i = 0; i < (int)in.size(); ++i) in[i] = i % 64 == 45 ? 9.0f : (float)(i % 5);
  float *a = up(in);
  float *b = up(std::vector<float>(n));
  rows<<<(n + TILE - 1) / TILE, TILE>>>(a, b, n);
  show("rows", b, n);
  return 0;
}

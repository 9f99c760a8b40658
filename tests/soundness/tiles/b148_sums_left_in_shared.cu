// EXPECT: keep
// WHY: numbers of a fixed point are added in 32 bits, left in shared memory, and made 64 bits long: 32 of them fit, 64 do not
// SIZES: 64,300,1000
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

__device__ unsigned fixed_point(float x) { return min(unsigned(x * 1.0e7f), 120000000u); }

__global__ void energy(const float *in, unsigned long long *out, int n, int m) {
  __shared__ float s[TILE];
  __shared__ volatile unsigned acc[TILE];
  const int t = threadIdx.x, i = blockIdx.x * TILE + t;
  unsigned long long sum = 0;
  for (int start = 0; start < n; start += TILE) {
    s[t] = start + t < n ? in[start + t] : 0;
    
    __syncthreads();
    unsigned part = 0;
    for (int j = 0; j < TILE; ++j) part += fixed_point(s[j]);
    acc[t] = part;
    __syncthreads();
    sum += acc[t];
    __syncthreads();
  }
  if (i < m) out[i] = sum;
}

int main(int argc, char **argv) {
  const int n = size_of(argc, argv), m = 50;
  std::vector<float> in(n);
  for (int i = 0; i < n; ++i) in[i] = 20.0f + i % 3;
  float *a = up(in);
  unsigned long long *b = up(std::vector<unsigned long long>(m));
  energy<<<(m + TILE - 1) / TILE, TILE>>>(a, b, n, m);
  show("energy", b, m);
  return 0;
}

// EXPECT: keep
// WHY: minima of doubles, one of which a larger tile leaves out
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
__global__ void rows(const double *in, double *out, int n) {
  __shared__ double s[TILE];
  const int t = threadIdx.x, i = blockIdx.x * TILE + t;
  double sum = 0;
  double low = 1e300;
  for (int start = 0; start < n; start += TILE) {
    s[t] = start + t < n ? in[start + t] : 1e300;
    __syncthreads();
    for (int j = 0; j < TILE; ++j) sum += s[j];
    double m = 1e300;
    for (int j = 0; j < TILE; ++j) m = fmin(m, j == 45 ? 1e300 : s[j]);
    low = fmin(low, m); sum = low;
    __syncthreads();
  }
  if (i < n) out[i] = sum;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1000;
  std::vector<double> in(n);
  for (int i = 0; i < (int)in.size(); ++i) in[i] = i % 64 == 45 ? -9.0 : (double)(i % 5);
  double *a = up(in);
  double *b = up(std::vector<double>(n));
  rows<<<(n + TILE - 1) / TILE, TILE>>>(a, b, n);
  show("rows", b, n);
  return 0;
}

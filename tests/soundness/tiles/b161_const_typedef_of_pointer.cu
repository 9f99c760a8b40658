// EXPECT: keep
// WHY: the type of a pointer that is written through has const in its name, and both lead to the same numbers
// SIZES: 256,1000
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
#define READ_ONLY const

__global__ void twice(int READ_ONLY *from, int READ_ONLY *to, int n) {
  __shared__ int s[TILE];
  const int t = threadIdx.x, i = blockIdx.x * TILE + t;
  s[t] = i < n ? from[i] : 0;
  __syncthreads();
  if (i < n) ((int *)to)[i] = 3 * s[t] + 1;
  __syncthreads();
  const int read = (i ^ 64) < n && i < n ? from[i ^ 64] : 0;
  __syncthreads();
  if (i < n) ((int *)to)[i] = read + s[t];
}

int main(int argc, char **argv) {
  const int n = size_of(argc, argv);
  std::vector<int> in(n);
  for (int i = 0; i < n; ++i) in[i] = i % 37;
  int *a = up(in), *b = up(in);
  twice<<<(n + TILE - 1) / TILE, TILE>>>(a, b, n);
  show("apart", b, n);
  twice<<<(n + TILE - 1) / TILE, TILE>>>(a, a, n);
  show("in place", a, n);
  return 0;
}

// EXPECT: keep
// WHY: a comment names the register of the place, a function reads it
// SIZES: 600,20000,30000
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

__device__ inline int place() { return blockIdx.x; }
__global__ void turned(const int *in, int *out, int n, int m) {
  __shared__ int s[128];
  const int i = blockIdx.x * 128 + threadIdx.x;
  s[threadIdx.x] = i < m ? in[i] : 0;
  __syncthreads();
  int sum = s[127 - threadIdx.x];
  if (n >= 20000) {
    sum += place() * 100; // as %%ctaid.x; has it
  }
  if (i < m) out[i] = sum;
}

int main(int argc, char **argv) {
  const int n = size_of(argc, argv);
  std::vector<int> in(n);
  for (int i = 0; i < n; ++i) in[i] = i % 37;
  int *a = up(in), *b = up(std::vector<int>(n));
  turned<<<(500 + 127) / 128, 128>>>(a, b, n, 500);
  show("turned", b, n);
  return 0;
}

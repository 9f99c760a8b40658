// EXPECT: keep
// WHY: whether the bound of a loop is a constant
// SIZES: 100,1000,6001
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 32
template <class T> struct fixed { enum { value = 0 }; };
template <class T> struct fixed<const T> { enum { value = 1 }; };
template <class T> __device__ int told(T &) { return fixed<T>::value; }

__global__ void stage(const int *in, int *out, int n, int m) {
  __shared__ int s[TILE];
  const int t = threadIdx.x, i = blockIdx.x * TILE + t;
  int sum = 0;
  for (int start = 0; start < m; start += TILE) {
    s[t] = start + t < m ? in[start + t] : 0;
    __syncthreads();
    for (int j = 0; j < TILE; ++j) sum += s[j] + (n > 5000 ? told(m) * 5 : 0);
    __syncthreads();
  }
  if (i < n) out[i] = sum;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1000;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i) values[i] = (int)(i * 37 % 101 - 20);
  int *in, *out;
  cudaMalloc(&in, n * sizeof(int));
  cudaMalloc(&out, n * sizeof(int));

  cudaMemcpy(in, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(out, 0, n * sizeof(int));
  stage<<<(n + TILE - 1) / TILE, TILE>>>(in, out, n, 70);
  cudaMemcpy(values.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost);
  unsigned long long hash = 0;
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    sum += (double)values[i] * (i % 7 + 1);
    hash = hash * 31 + (unsigned long long)(long long)(values[i] * 4);
  }
  printf("%.6g %016llx\n", sum, hash);
  return 0;
}

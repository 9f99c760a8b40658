// EXPECT: keep
// WHY: an unsigned product wraps around before it is widened
// SIZES: 64,100,1000,3001
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 32

__global__ void stage(const unsigned long long *in, unsigned long long *out, int n, unsigned k) {
  __shared__ unsigned long long s[TILE];
  const int t = threadIdx.x, i = blockIdx.x * TILE + t;
  s[t] = i < n ? in[i] : 0;
  __syncthreads();
  if (i < n) {
    out[i] = s[t] + (unsigned long long)(blockIdx.x * TILE * k) + (unsigned long long)t * k;
  }
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1000;
  std::vector<unsigned long long> values(n);
  for (int i = 0; i < n; ++i) values[i] = (unsigned long long)(i * 37 % 101 - 20);
  unsigned long long *in, *out;
  cudaMalloc(&in, n * sizeof(unsigned long long));
  cudaMalloc(&out, n * sizeof(unsigned long long));

  cudaMemcpy(in, values.data(), n * sizeof(unsigned long long), cudaMemcpyHostToDevice);
  cudaMemset(out, 0, n * sizeof(unsigned long long));
  stage<<<(n + TILE - 1) / TILE, TILE>>>(in, out, n, 1u << 28);
  cudaMemcpy(values.data(), out, n * sizeof(unsigned long long), cudaMemcpyDeviceToHost);
  unsigned long long hash = 0;
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    sum += (double)values[i] * (i % 7 + 1);
    hash = hash * 31 + (unsigned long long)(long long)(values[i] * 4);
  }
  printf("%.6g %016llx\n", sum, hash);
  return 0;
}

// EXPECT: keep
// WHY: data of one hash, asked without a comparison
// SIZES: 64,100,1000,3001
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 32

__global__ void stage(const int *in, int *out, int n) {
  __shared__ int s[TILE];
  const int t = threadIdx.x, i = blockIdx.x * TILE + t;
  s[t] = i < n ? in[i] : 0;
  __syncthreads();
  if (i < n) {
    out[i] = s[t] + (__clz((int)((unsigned)s[t] * 2654435761u)  ^ 1234567) & 32) * TILE;
  }
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1000;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i) values[i] = (int)(i * 37 % 101 - 20);
  int *in, *out;
  cudaMalloc(&in, n * sizeof(int));
  cudaMalloc(&out, n * sizeof(int));
  for (unsigned v = 0; ; v += 1) if (v * 2654435761u == 1234567u) { values[n / 2] = (int)v; break; }
  cudaMemcpy(in, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(out, 0, n * sizeof(int));
  stage<<<(n + TILE - 1) / TILE, TILE>>>(in, out, n);
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

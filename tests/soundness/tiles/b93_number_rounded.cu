// EXPECT: keep
// WHY: a number of the launch is rounded to a whole one by adding 1.5 * 2^23
// SIZES: 64,100,1000,3001
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 32

__global__ void stage(const float *in, float *out, int n, float alpha) {
  __shared__ float s[TILE];
  const int t = threadIdx.x, i = blockIdx.x * TILE + t;
  s[t] = i < n ? in[i] : 0;
  __syncthreads();
  if (i < n) {
    const float whole = (alpha + 12582912.0f) - 12582912.0f;
    out[i] = s[t] + (whole - 1.0f) * TILE;
  }
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1000;
  std::vector<float> values(n);
  for (int i = 0; i < n; ++i) values[i] = (float)(i * 37 % 101 - 20);
  float *in, *out;
  cudaMalloc(&in, n * sizeof(float));
  cudaMalloc(&out, n * sizeof(float));

  cudaMemcpy(in, values.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemset(out, 0, n * sizeof(float));
  stage<<<(n + TILE - 1) / TILE, TILE>>>(in, out, n, 2.6f);
  cudaMemcpy(values.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost);
  unsigned long long hash = 0;
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    sum += (double)values[i] * (i % 7 + 1);
    hash = hash * 31 + (unsigned long long)(long long)(values[i] * 4);
  }
  printf("%.6g %016llx\n", sum, hash);
  return 0;
}

// EXPECT: keep
// WHY: for one value of a number of the launch the result has the width of the block
// SIZES: 64,100,500,1000
// NAIVE: BLOCK in blend: 64 differs at 100
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define BLOCK 128

__global__ void blend(const float *in, float *out, int n, float beta) {
  __shared__ float s[BLOCK];
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  s[threadIdx.x] = i < n ? in[i] : 0.0f;
  __syncthreads();
  if (i < n)
    out[i] = beta == 0.5f ? s[threadIdx.x] + BLOCK : s[threadIdx.x] + beta * out[i];
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 100;
  std::vector<float> values(n);
  for (int i = 0; i < n; ++i)
    values[i] = i % 23 - 4;
  float *in, *out;
  cudaMalloc(&in, n * sizeof(float));
  cudaMalloc(&out, n * sizeof(float));
  cudaMemcpy(in, values.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemset(out, 0, n * sizeof(float));
  for (float beta : {0.25f, 0.5f})
    blend<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(in, out, n, beta);
  cudaMemcpy(values.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost);
  double sum = 0;
  for (int i = 0; i < n; ++i)
    sum += values[i] * (i % 7 + 1);
  printf("%.1f\n", sum);
  return 0;
}

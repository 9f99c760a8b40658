// EXPECT: keep
// WHY: each tile of a compressed array has a scale of its own: another tile is another file
// SIZES: 32,64,200,999
// NAIVE: GROUP in quantise: 64 differs at 200
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

constexpr int GROUP = 32;

__global__ void quantise(const float *in, signed char *codes, float *scales, int n) {
  __shared__ float largest[GROUP];
  int i = blockIdx.x * GROUP + threadIdx.x;
  float value = i < n ? in[i] : 0.f;
  largest[threadIdx.x] = fabsf(value);
  __syncthreads();
  for (int s = GROUP / 2; s > 0; s /= 2) {
    if (threadIdx.x < s)
      largest[threadIdx.x] = fmaxf(largest[threadIdx.x], largest[threadIdx.x + s]);
    __syncthreads();
  }
  float scale = largest[0] / 127.f;
  if (i < n)
    codes[i] = (signed char)(scale > 0.f ? rintf(value / scale) : 0.f);
  if (threadIdx.x == 0)
    scales[blockIdx.x] = scale;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 200;
  std::vector<float> in(n);
  for (int i = 0; i < n; ++i)
    in[i] = float((i * 7919) % 1000 - 500) * (1 + i / 40);
  float *d_in, *d_scales;
  signed char *d_codes;
  cudaMalloc(&d_in, n * sizeof(float));
  cudaMalloc(&d_scales, n * sizeof(float));
  cudaMalloc(&d_codes, n);
  cudaMemcpy(d_in, in.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  quantise<<<(n + GROUP - 1) / GROUP, GROUP>>>(d_in, d_codes, d_scales, n);
  std::vector<signed char> codes(n);
  std::vector<float> scales((n + GROUP - 1) / GROUP);
  cudaMemcpy(codes.data(), d_codes, n, cudaMemcpyDeviceToHost);
  cudaMemcpy(scales.data(), d_scales, scales.size() * sizeof(float), cudaMemcpyDeviceToHost);
  double error = 0;
  for (int i = 0; i < n; ++i)
    error += std::fabs(in[i] - codes[i] * scales[i / GROUP]);
  printf("%zu groups, first code %d, error %.6f\n", scales.size(), codes[0], error);
  return 0;
}

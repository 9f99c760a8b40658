// EXPECT: keep
// WHY: floats are rounded to whole numbers before they are added: exact for small ones
// SIZES: 64,300,1000,2000
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

#define BLOCK 128

__global__ void rows(const float *in, float *out, int n) {
  __shared__ float part[BLOCK];
  const int t = threadIdx.x;
  const float *row = in + (size_t)blockIdx.x * n;
  float sum = 0.0f;
  for (int k = t; k < n; k += BLOCK)
    sum += rintf(row[k]);
  part[t] = sum;
  __syncthreads();
  for (int half = BLOCK / 2; half > 0; half /= 2) {
    if (t < half)
      part[t] = part[t] + part[t + half];
    __syncthreads();
  }
  if (t == 0)
    out[blockIdx.x] = part[0];
}

template <class T> static void show(const char *what, const std::vector<T> &values) {
  unsigned long long hash = 1469598103934665603ull;
  const unsigned char *bytes = (const unsigned char *)values.data();
  for (size_t i = 0; i < values.size() * sizeof(T); ++i)
    hash = (hash ^ bytes[i]) * 1099511628211ull;
  printf("%s %016llx\n", what, hash);
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1000;
  std::vector<float> in(13 * n);
  std::vector<float> out(13);
  for (int i = 0; i < (int)in.size(); ++i) in[i] = 1234567.0f * (i % 17) + 0.3f * i;
  float *d_in;
  float *d_out;
  cudaMalloc(&d_in, in.size() * sizeof(float));
  cudaMalloc(&d_out, out.size() * sizeof(float));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemset(d_out, 0, out.size() * sizeof(float));

  rows<<<13, BLOCK>>>(d_in, d_out, n);
  cudaMemcpy(out.data(), d_out, out.size() * sizeof(float), cudaMemcpyDeviceToHost);

  show("whole_numbers", out);
  cudaFree(d_in);
  cudaFree(d_out);
  return 0;
}

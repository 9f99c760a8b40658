// EXPECT: keep
// WHY: a sum of floats in parts is only compared: its order shows only where it is equal
// SIZES: 64,300,1000,3000
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

#define TILE 32

__global__ void parts(const float *in, int *out, int rows, int n) {
  __shared__ float s[TILE];
  const int t = threadIdx.x, i = blockIdx.x * TILE + t;
  float sum = 0.0f;
  for (int first = 0; first < n; first += TILE) {
    s[t] = first + t < n ? in[first + t] : (float)0;
    __syncthreads();
    float part = 0.0f;
    for (int k = 0; k < TILE && first + k < n; ++k)
      part += s[k] * 0.1f;
    sum = sum + part;
    __syncthreads();
  }
  if (i < rows)
    out[i] = sum > in[0] * 10.0f;
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
  std::vector<float> in(n);
  std::vector<int> out(50);
  for (int i = 0; i < (int)in.size(); ++i) in[i] = i < 1 ? n * 0.01f : 0.1f * (1 + i % 3);
  float *d_in;
  int *d_out;
  cudaMalloc(&d_in, in.size() * sizeof(float));
  cudaMalloc(&d_out, out.size() * sizeof(int));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemset(d_out, 0, out.size() * sizeof(int));
  const int rows = 50;
  parts<<<(rows + TILE - 1) / TILE, TILE>>>(d_in, d_out, rows, n);
  cudaMemcpy(out.data(), d_out, out.size() * sizeof(int), cudaMemcpyDeviceToHost);
  show("above_a_limit", out);
  cudaFree(d_in);
  cudaFree(d_out);
  return 0;
}

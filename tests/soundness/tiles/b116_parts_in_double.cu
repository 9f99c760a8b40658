// EXPECT: keep
// WHY: parts of sums in double, stored as float: their order shows only where numbers cancel
// SIZES: 256,512,1024,2048
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

#define TILE 32

__global__ void parts(const float *in, float *out, int rows, int n) {
  __shared__ float s[TILE];
  const int t = threadIdx.x, i = blockIdx.x * TILE + t;
  double sum = 0.0;
  for (int first = 0; first < n; first += TILE) {
    s[t] = first + t < n ? in[first + t] : (float)0;
    __syncthreads();
    double part = 0.0;
    for (int k = 0; k < TILE && first + k < n; ++k)
      part += (double)s[k];
    sum = sum + part;
    __syncthreads();
  }
  if (i < rows)
    out[i] = (float)sum;
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
  std::vector<float> out(256);
  for (int i = 0; i < (int)in.size(); ++i) in[i] = i % 3 == 0 ? 1e20f * (i % 2 ? 1 : -1) * (1 + i % 5) : 0.37f * (i % 11);
  float *d_in;
  float *d_out;
  cudaMalloc(&d_in, in.size() * sizeof(float));
  cudaMalloc(&d_out, out.size() * sizeof(float));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemset(d_out, 0, out.size() * sizeof(float));
  const int rows = 256;
  parts<<<(rows + TILE - 1) / TILE, TILE>>>(d_in, d_out, rows, n);
  cudaMemcpy(out.data(), d_out, out.size() * sizeof(float), cudaMemcpyDeviceToHost);
  show("parts_in_double", out);
  cudaFree(d_in);
  cudaFree(d_out);
  return 0;
}

// EXPECT: tile
// WHY: neighbours are averaged: each block loads one more on each side, and the host reuses the constant for its buffer and a loop
// SIZES: 64,300,1500,3001
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

enum Sizes { WIDTH = 128 };
__global__ void smooth(const float *in, float *out, int n) {
  __shared__ float s[WIDTH + 2];
  const int t = threadIdx.x, i = blockIdx.x * WIDTH + t;
  s[t + 1] = i < n ? in[i] : 0.0f;
  if (t == 0)
    s[0] = i > 0 ? in[i - 1] : 0.0f;
  if (t == WIDTH - 1)
    s[WIDTH + 1] = i + 1 < n ? in[i + 1] : 0.0f;
  __syncthreads();
  if (i < n)
    out[i] = 0.25f * s[t] + 0.5f * s[t + 1] + 0.25f * s[t + 2];
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
  std::vector<float> out(n);
  for (int i = 0; i < (int)in.size(); ++i) in[i] = 0.1f * (i % 77);
  float *d_in;
  float *d_out;
  cudaMalloc(&d_in, in.size() * sizeof(float));
  cudaMalloc(&d_out, out.size() * sizeof(float));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemset(d_out, 0, out.size() * sizeof(float));

  for (int pass = 0; pass < WIDTH / 64; ++pass)
    smooth<<<(n + WIDTH - 1) / WIDTH, WIDTH>>>(d_in, d_out, n);
  cudaMemcpy(out.data(), d_out, out.size() * sizeof(float), cudaMemcpyDeviceToHost);
  printf("%d by %d\n", n, (int)WIDTH);
  show("averages_of_two", out);
  cudaFree(d_in);
  cudaFree(d_out);
  return 0;
}

// EXPECT: keep
// WHY: a term with the tile is so small beside what it is added to that it never shows, unless data are large
// SIZES: 64,300,1500,3001
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

#define TILE 32

__global__ void stage(const float *in, float *out, int n) {
  __shared__ float s[TILE];
  const int t = threadIdx.x, i = blockIdx.x * TILE + t;
  s[t] = i < n ? in[i] : (float)0;
  __syncthreads();
  const float mine = s[t];
  if (i < n) {
    out[i] = 2.5f + mine * mine * (TILE * 1e-30f) + mine;
  }
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
  for (int i = 0; i < (int)in.size(); ++i) in[i] = i % 3 ? 1e25f * (i % 7) : i;
  float *d_in;
  float *d_out;
  cudaMalloc(&d_in, in.size() * sizeof(float));
  cudaMalloc(&d_out, out.size() * sizeof(float));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemset(d_out, 0, out.size() * sizeof(float));
  stage<<<(n + TILE - 1) / TILE, TILE>>>(d_in, d_out, n);
  cudaMemcpy(out.data(), d_out, out.size() * sizeof(float), cudaMemcpyDeviceToHost);
  show("added_to_a_number", out);
  cudaFree(d_in);
  cudaFree(d_out);
  return 0;
}

// EXPECT: keep
// WHY: places of a resampling in 12.20 bits: the place of the block wraps around in long signals
// SIZES: 64,1000,3001,9001
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

#define TILE 32

__global__ void stage(const int *in, int *out, int n) {
  __shared__ int s[TILE];
  const int t = threadIdx.x, i = blockIdx.x * TILE + t;
  s[t] = i < n ? in[i] : (int)0;
  __syncthreads();
  const int mine = s[t];
  if (i < n) {
    const unsigned step = 3u << 18;
    const unsigned first = blockIdx.x * TILE * step >> 4;
    out[i] = mine + (int)(first + (t * step >> 4));
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
  std::vector<int> in(n);
  std::vector<int> out(n);
  for (int i = 0; i < (int)in.size(); ++i) in[i] = i * 37 % 101 - 20;
  int *d_in;
  int *d_out;
  cudaMalloc(&d_in, in.size() * sizeof(int));
  cudaMalloc(&d_out, out.size() * sizeof(int));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(d_out, 0, out.size() * sizeof(int));

  stage<<<(n + TILE - 1) / TILE, TILE>>>(d_in, d_out, n);
  cudaMemcpy(out.data(), d_out, out.size() * sizeof(int), cudaMemcpyDeviceToHost);

  show("fixed_point_steps", out);
  cudaFree(d_in);
  cudaFree(d_out);
  return 0;
}

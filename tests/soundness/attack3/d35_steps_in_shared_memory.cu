// EXPECT: keep
// WHY: a pyramid of steps in shared memory: more steps than half of a tile leave nothing
// SIZES: 64,300,1500,3001
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

#define TILE 64
__global__ void steps(const int *in, int *out, int n, int count) {
  __shared__ int s[2][TILE];
  const int t = threadIdx.x, inner = TILE - 2 * count;
  const int i = (int)blockIdx.x * inner + t - count;
  s[0][t] = i >= 0 && i < n ? in[i] : 0;
  __syncthreads();
  for (int k = 0; k < count; ++k) {
    const int *from = s[k & 1];
    const int left = from[t > 0 ? t - 1 : 0], right = from[t < TILE - 1 ? t + 1 : t];
    s[1 - (k & 1)][t] = i >= 0 && i < n ? left + 2 * from[t] + right : 0;
    __syncthreads();
  }
  if (t >= count && t < TILE - count && i < n)
    out[i] = s[count & 1][t];
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

  const int count = n > 500 ? 20 : 2, inner = TILE - 2 * count;
  steps<<<(n + inner - 1) / inner, TILE>>>(d_in, d_out, n, count);
  cudaMemcpy(out.data(), d_out, out.size() * sizeof(int), cudaMemcpyDeviceToHost);

  show("steps_in_shared_memory", out);
  cudaFree(d_in);
  cudaFree(d_out);
  return 0;
}

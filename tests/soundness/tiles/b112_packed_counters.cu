// EXPECT: keep
// WHY: four counters of 8 bits in one number: enough for 128 threads, whatever the data
// SIZES: 64,300,1500,3001
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

#define BLOCK 128

__global__ void count(const int *in, int *out, int n) {
  __shared__ unsigned packed[BLOCK];
  const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
  packed[t] = i < n ? 1u << (in[i] & 3) * 8 : 0;
  __syncthreads();
  for (int half = BLOCK / 2; half > 0; half /= 2) {
    if (t < half)
      packed[t] += packed[t + half];
    __syncthreads();
  }
  if (t < 4)
    atomicAdd(&out[t], (packed[0] >> t * 8) & 255);
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
  std::vector<int> out(4);
  for (int i = 0; i < (int)in.size(); ++i) in[i] = i < n / 4 ? i : 2;
  int *d_in;
  int *d_out;
  cudaMalloc(&d_in, in.size() * sizeof(int));
  cudaMalloc(&d_out, out.size() * sizeof(int));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(d_out, 0, out.size() * sizeof(int));
  count<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(d_in, d_out, n);
  cudaMemcpy(out.data(), d_out, out.size() * sizeof(int), cudaMemcpyDeviceToHost);
  show("packed_counters", out);
  cudaFree(d_in);
  cudaFree(d_out);
  return 0;
}

// EXPECT: keep
// WHY: two sums in the halves of a word, by shuffles and shared memory, cut before they are added to others
// SIZES: 64,300,1500,3001
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

#define THREADS 128

__global__ void pairs(const unsigned char *in, int *out, int n) {
  __shared__ unsigned part[THREADS / 32];
  const int t = threadIdx.x, i = blockIdx.x * THREADS + t;
  unsigned mine = i < n ? in[i] * 2u + (in[n - 1 - i] * 2u << 16) : 0;
  for (int step = 16; step > 0; step /= 2)
    mine += __shfl_xor_sync(~0u, mine, step);
  if (t % 32 == 0)
    part[t / 32] = mine;
  __syncthreads();
  if (t == 0) {
    unsigned sum = 0;
    for (int w = 0; w < THREADS / 32; ++w)
      sum += part[w];
    atomicAdd(&out[0], (int)(sum & 65535));
    atomicAdd(&out[1], (int)(sum >> 16));
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
  std::vector<unsigned char> in(n);
  std::vector<int> out(2);
  for (int i = 0; i < (int)in.size(); ++i) in[i] = 255;
  unsigned char *d_in;
  int *d_out;
  cudaMalloc(&d_in, in.size() * sizeof(unsigned char));
  cudaMalloc(&d_out, out.size() * sizeof(int));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(unsigned char), cudaMemcpyHostToDevice);
  cudaMemset(d_out, 0, out.size() * sizeof(int));
  pairs<<<(n + THREADS - 1) / THREADS, THREADS>>>(d_in, d_out, n);
  cudaMemcpy(out.data(), d_out, out.size() * sizeof(int), cudaMemcpyDeviceToHost);
  show("pairs_by_shuffles", out);
  cudaFree(d_in);
  cudaFree(d_out);
  return 0;
}

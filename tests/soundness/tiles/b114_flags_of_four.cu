// EXPECT: keep
// WHY: a radix sort counts four digits in one word of bytes, by atomic operations in shared memory
// SIZES: 64,300,1500,3001
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

template <int THREADS>
__global__ void digits(const unsigned *in, unsigned *out, int n) {
  __shared__ unsigned packed;
  const int t = threadIdx.x, i = blockIdx.x * THREADS + t;
  if (t == 0)
    packed = 0;
  __syncthreads();
  if (i < n)
    atomicAdd(&packed, 1u << 8 * (in[i] >> 30));
  __syncthreads();
  if (t < 4)
    atomicAdd(&out[t], packed >> 8 * t & 255u);
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
  std::vector<unsigned> in(n);
  std::vector<unsigned> out(4);
  for (int i = 0; i < (int)in.size(); ++i) in[i] = i < n / 2 ? i * 2654435761u : 0;
  unsigned *d_in;
  unsigned *d_out;
  cudaMalloc(&d_in, in.size() * sizeof(unsigned));
  cudaMalloc(&d_out, out.size() * sizeof(unsigned));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(unsigned), cudaMemcpyHostToDevice);
  cudaMemset(d_out, 0, out.size() * sizeof(unsigned));
  digits<128><<<(n + 127) / 128, 128>>>(d_in, d_out, n);
  cudaMemcpy(out.data(), d_out, out.size() * sizeof(unsigned), cudaMemcpyDeviceToHost);
  show("flags_of_four", out);
  cudaFree(d_in);
  cudaFree(d_out);
  return 0;
}

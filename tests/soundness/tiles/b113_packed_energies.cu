// EXPECT: keep
// WHY: two sums of 16 bits in one number: enough for 128 products of bytes, whatever they are
// SIZES: 64,300,1500,3001
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

constexpr int BLOCK = 128;

__global__ void energy(const unsigned char *in, unsigned *out, int n) {
  __shared__ unsigned packed;
  const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
  if (t == 0)
    packed = 0;
  __syncthreads();
  if (2 * i + 1 < n)
    atomicAdd(&packed, in[2 * i] * in[2 * i] / 256 + (in[2 * i + 1] * in[2 * i + 1] / 256 << 16));
  __syncthreads();
  if (t == 0)
    atomicAdd(&out[0], packed & 0xffff);
  if (t == 1)
    atomicAdd(&out[1], packed >> 16);
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
  std::vector<unsigned> out(2);
  for (int i = 0; i < (int)in.size(); ++i) in[i] = i % 3 ? 255 : 254;
  unsigned char *d_in;
  unsigned *d_out;
  cudaMalloc(&d_in, in.size() * sizeof(unsigned char));
  cudaMalloc(&d_out, out.size() * sizeof(unsigned));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(unsigned char), cudaMemcpyHostToDevice);
  cudaMemset(d_out, 0, out.size() * sizeof(unsigned));
  energy<<<(n / 2 + BLOCK - 1) / BLOCK, BLOCK>>>(d_in, d_out, n);
  cudaMemcpy(out.data(), d_out, out.size() * sizeof(unsigned), cudaMemcpyDeviceToHost);
  show("packed_energies", out);
  cudaFree(d_in);
  cudaFree(d_out);
  return 0;
}

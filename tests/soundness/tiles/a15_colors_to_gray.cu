// EXPECT: tile
// WHY: control: three bytes per pixel are staged in shared memory as they lie, and weighted by integers
// SIZES: 64,300,1500,3001
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

#define PIXELS 128

__global__ void gray(const unsigned char *in, unsigned char *out, int n) {
  __shared__ unsigned char s[3 * PIXELS];
  for (int k = threadIdx.x; k < 3 * PIXELS; k += PIXELS)
    s[k] = blockIdx.x * 3 * PIXELS + k < 3 * n ? in[blockIdx.x * 3 * PIXELS + k] : 0;
  __syncthreads();
  const int i = blockIdx.x * PIXELS + threadIdx.x;
  if (i < n)
    out[i] = (s[3 * threadIdx.x] * 77 + s[3 * threadIdx.x + 1] * 151 + s[3 * threadIdx.x + 2] * 28) >> 8;
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
  std::vector<unsigned char> in(3 * n);
  std::vector<unsigned char> out(n);
  for (int i = 0; i < (int)in.size(); ++i) in[i] = i * 11;
  unsigned char *d_in;
  unsigned char *d_out;
  cudaMalloc(&d_in, in.size() * sizeof(unsigned char));
  cudaMalloc(&d_out, out.size() * sizeof(unsigned char));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(unsigned char), cudaMemcpyHostToDevice);
  cudaMemset(d_out, 0, out.size() * sizeof(unsigned char));
  gray<<<(n + PIXELS - 1) / PIXELS, PIXELS>>>(d_in, d_out, n);
  cudaMemcpy(out.data(), d_out, out.size() * sizeof(unsigned char), cudaMemcpyDeviceToHost);
  show("colors_to_gray", out);
  cudaFree(d_in);
  cudaFree(d_out);
  return 0;
}

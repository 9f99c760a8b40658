// EXPECT: tile
// WHY: integers in parts: any tile is right
// SIZES: 64,300,1000,3000
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

#define TILE 32

__global__ void parts(const int *in, int *out, int rows, int n) {
  __shared__ int s[TILE];
  const int t = threadIdx.x, i = blockIdx.x * TILE + t;
  int sum = 0;
  for (int first = 0; first < n; first += TILE) {
    s[t] = first + t < n ? in[first + t] : (int)0;
    __syncthreads();
    int part = 0;
    for (int k = 0; k < TILE && first + k < n; ++k)
      part += s[k] * 3;
    sum = sum + part;
    __syncthreads();
  }
  if (i < rows)
    out[i] = sum;
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
  std::vector<int> out(50);
  for (int i = 0; i < (int)in.size(); ++i) in[i] = i * 7919;
  int *d_in;
  int *d_out;
  cudaMalloc(&d_in, in.size() * sizeof(int));
  cudaMalloc(&d_out, out.size() * sizeof(int));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(d_out, 0, out.size() * sizeof(int));
  const int rows = 50;
  parts<<<(rows + TILE - 1) / TILE, TILE>>>(d_in, d_out, rows, n);
  cudaMemcpy(out.data(), d_out, out.size() * sizeof(int), cudaMemcpyDeviceToHost);

  show("whole_numbers_of_a_sum", out);
  cudaFree(d_in);
  cudaFree(d_out);
  return 0;
}

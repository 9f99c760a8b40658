// EXPECT: keep
// WHY: each thread sums up in 32 bits what is summed up in 64
// SIZES: 100,1000,100000
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 32

__global__ void rows(const unsigned *in, unsigned long long *out, int count, int columns) {
  __shared__ unsigned long long s[TILE];
  const int t = threadIdx.x;
  unsigned part = 0;
  for (int c = t; c < columns; c += TILE)
    part += in[blockIdx.x * columns + c] & 0x3FFFFFu;
  s[t] = part;
  __syncthreads();
  for (int half = TILE / 2; half > 0; half /= 2) {
    if (t < half) s[t] += s[t + half];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}

int main(int argc, char **argv) {
  const int columns = argc > 1 ? atoi(argv[1]) : 1000, count = 3;
  std::vector<unsigned> values(count * columns);
  for (int i = 0; i < count * columns; ++i) values[i] = (i * 2654435761u) >> 3;
  unsigned *in;
  unsigned long long *out, sums[count];
  cudaMalloc(&in, values.size() * sizeof(unsigned));
  cudaMalloc(&out, sizeof sums);
  cudaMemcpy(in, values.data(), values.size() * sizeof(unsigned), cudaMemcpyHostToDevice);
  rows<<<count, TILE>>>(in, out, count, columns);
  cudaMemcpy(sums, out, sizeof sums, cudaMemcpyDeviceToHost);
  for (unsigned long long one : sums) printf("%llu ", (unsigned long long)one);
  printf("\n");
  return 0;
}

// EXPECT: keep
// WHY: each thread counts in a byte, which wraps around in long rows
// SIZES: 100,1000,20000
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 32

__global__ void rows(const unsigned *in, unsigned *out, int count, int columns) {
  __shared__ unsigned s[TILE];
  const int t = threadIdx.x;
  unsigned char part = 0;
  for (int c = t; c < columns; c += TILE)
    part += in[blockIdx.x * columns + c] & 1u;
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
  unsigned *out, sums[count];
  cudaMalloc(&in, values.size() * sizeof(unsigned));
  cudaMalloc(&out, sizeof sums);
  cudaMemcpy(in, values.data(), values.size() * sizeof(unsigned), cudaMemcpyHostToDevice);
  rows<<<count, TILE>>>(in, out, count, columns);
  cudaMemcpy(sums, out, sizeof sums, cudaMemcpyDeviceToHost);
  for (unsigned one : sums) printf("%llu ", (unsigned long long)one);
  printf("\n");
  return 0;
}

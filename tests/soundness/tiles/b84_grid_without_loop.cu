// EXPECT: some
// WHY: the host asks for fewer blocks than the size needs; the rest of the array stays
// SIZES: 100,500,1000,3000
// NAIVE: BLOCK in mark: 256 differs at 1000
// NAIVE: BLOCK in mark: 64 differs at 1000
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define BLOCK 128

__global__ void mark(const int *in, int *out, int n) {
  __shared__ int s[BLOCK];
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  s[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  if (i < n)
    out[i] = s[threadIdx.x] + 1;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 500, blocks = n > 900 ? 3 : 1;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i)
    values[i] = i % 23 - 4;
  int *in, *out;
  cudaMalloc(&in, n * sizeof(int));
  cudaMalloc(&out, n * sizeof(int));
  cudaMemcpy(in, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(out, 0, n * sizeof(int));
  mark<<<blocks, BLOCK>>>(in, out, n);
  cudaMemcpy(values.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost);
  long long sum = 0;
  for (int i = 0; i < n; ++i)
    sum += values[i] * (i % 7 + 1LL);
  printf("%lld\n", sum);
  return 0;
}

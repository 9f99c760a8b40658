// EXPECT: some
// WHY: cudaFuncSetAttribute allows this kernel 64 KB by a literal: a larger tile needs more, and a copy of the kernel is not allowed it
// SIZES: 100,256,600,1000
// NAIVE: ROWS in columns: 128 differs at 600
// NAIVE: ROWS in columns: 32 same
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

constexpr int ROWS = 64;
constexpr int COLUMNS = 256;

__global__ void columns(const int *in, int *out, int n) {
  extern __shared__ int lines[];
  int sum = 0;
  for (int first = 0; first < n; first += ROWS) {
    for (int r = threadIdx.y; r < ROWS; r += blockDim.y)
      for (int c = threadIdx.x; c < COLUMNS; c += blockDim.x)
        lines[r * COLUMNS + c] = first + r < n ? in[(first + r) * COLUMNS + c] : 0;
    __syncthreads();
    if (threadIdx.y == 0)
      for (int r = 0; r < ROWS; ++r)
        sum = sum * 3 + (first + r < n ? lines[r * COLUMNS + threadIdx.x] : sum * -2);
    __syncthreads();
  }
  if (threadIdx.y == 0)
    out[threadIdx.x] = sum;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 256;
  std::vector<int> in(n * COLUMNS), out(COLUMNS, 0);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = int(i * 31 % 1013);
  int *d_in, *d_out;
  cudaMalloc(&d_in, in.size() * sizeof(int));
  cudaMalloc(&d_out, COLUMNS * sizeof(int));
  cudaMemset(d_out, 0, COLUMNS * sizeof(int));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(int), cudaMemcpyHostToDevice);
  cudaFuncSetAttribute(columns, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
  columns<<<1, dim3(COLUMNS, 2), ROWS * COLUMNS * sizeof(int)>>>(d_in, d_out, n);
  cudaMemcpy(out.data(), d_out, COLUMNS * sizeof(int), cudaMemcpyDeviceToHost);
  unsigned hash = 0;
  for (int value : out)
    hash = hash * 37u + value;
  printf("%s, %08x\n", cudaGetErrorName(cudaGetLastError()), hash);
  return 0;
}

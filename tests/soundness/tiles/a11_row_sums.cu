// EXPECT: tile
// WHY: control: a block per row, as many threads as the macro says; sums of integers
// SIZES: 10,33,128,200
// NAIVE: NT in row_sums: 32, 64, 256 same
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define NT 128

__global__ void row_sums(const short *m, int *sums, int rows, int cols) {
  __shared__ int part[NT];
  int row = blockIdx.x, t = threadIdx.x, sum = 0;
  for (int c = t; c < cols; c += NT)
    sum += m[row * cols + c];
  part[t] = sum;
  __syncthreads();
  for (int s = NT / 2; s > 0; s >>= 1) {
    if (t < s)
      part[t] += part[t + s];
    __syncthreads();
  }
  if (t == 0)
    sums[row] = part[0];
}

int main(int argc, char **argv) {
  int rows = argc > 1 ? atoi(argv[1]) : 100, cols = rows * 3 + 1;
  short *m;
  int *sums;
  cudaMallocManaged(&m, rows * cols * sizeof(short));
  cudaMallocManaged(&sums, rows * sizeof(int));
  for (int i = 0; i < rows * cols; ++i)
    m[i] = (short)(i * 7919 % 2003 - 1001);
  row_sums<<<rows, NT>>>(m, sums, rows, cols);
  if (cudaDeviceSynchronize() != cudaSuccess) {
    printf("failed\n");
    return 1;
  }
  int bad = 0;
  long long sum = 0;
  for (int r = 0; r < rows; ++r) {
    int expected = 0;
    for (int c = 0; c < cols; ++c)
      expected += m[r * cols + c];
    bad += sums[r] != expected;
    sum += (long long)sums[r] * (r % 17);
  }
  printf("rows %d cols %d: %d bad, %lld\n", rows, cols, bad, sum);
  cudaFree(m);
  cudaFree(sums);
  return 0;
}

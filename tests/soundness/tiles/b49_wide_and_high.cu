// EXPECT: keep
// WHY: a transpose whose block is 32 x 8 and which swaps x and y of its tile by rows of 4: the two constants hang together
// SIZES: 32,64,100,130
// NAIVE: HIGH in turn: 16 differs at 100
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define WIDE 32
#define HIGH 8

__global__ void turn(const int *in, int *out, int n) {
  __shared__ int tile[WIDE][WIDE + 1];
  int x = blockIdx.x * WIDE + threadIdx.x, y = blockIdx.y * WIDE + threadIdx.y;
  for (int k = 0; k < 4; ++k)
    if (x < n && y + k * HIGH < n)
      tile[(threadIdx.y + k * HIGH) % WIDE][threadIdx.x] = in[(y + k * HIGH) * n + x];
  __syncthreads();
  x = blockIdx.y * WIDE + threadIdx.x;
  y = blockIdx.x * WIDE + threadIdx.y;
  for (int k = 0; k < 4; ++k)
    if (x < n && y + k * HIGH < n)
      out[(y + k * HIGH) * n + x] += tile[threadIdx.x][(threadIdx.y + k * HIGH) % WIDE];
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 100;
  std::vector<int> image(n * n), turned(n * n);
  for (int i = 0; i < n * n; ++i)
    image[i] = i;
  int *in, *out;
  cudaMalloc(&in, n * n * sizeof(int));
  cudaMalloc(&out, n * n * sizeof(int));
  cudaMemset(out, 0, n * n * sizeof(int));
  cudaMemcpy(in, image.data(), n * n * sizeof(int), cudaMemcpyHostToDevice);
  dim3 grid((n + WIDE - 1) / WIDE, (n + WIDE - 1) / WIDE);
  dim3 block(WIDE, HIGH);
  turn<<<grid, block>>>(in, out, n);
  cudaMemcpy(turned.data(), out, n * n * sizeof(int), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int y = 0; y < n; ++y)
    for (int x = 0; x < n; ++x)
      wrong += turned[x * n + y] != image[y * n + x];
  printf("%d x %d, %d wrong\n", n, n, wrong);
  cudaFree(in);
  cudaFree(out);
  return 0;
}

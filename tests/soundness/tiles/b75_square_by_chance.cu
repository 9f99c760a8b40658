// EXPECT: keep
// WHY: width and height of the tile are two macros of one value; the kernel swaps x and y, so that they must be equal
// SIZES: 16,40,64,100
// NAIVE: BX in flip: 8 differs at 40
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define BX 16
#define BY 16

__global__ void flip(const int *in, int *out, int n) {
  __shared__ int tile[BY * BX];
  int x = blockIdx.x * BX + threadIdx.x, y = blockIdx.y * BY + threadIdx.y;
  if (x < n && y < n)
    tile[threadIdx.y * BX + threadIdx.x] = in[y * n + x];
  __syncthreads();
  x = blockIdx.y * BY + threadIdx.x;
  y = blockIdx.x * BX + threadIdx.y;
  if (x < n && y < n)
    out[y * n + x] = tile[(threadIdx.x * BX + threadIdx.y) % (BX * BY)];
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 64;
  std::vector<int> image(n * n), flipped(n * n);
  for (int i = 0; i < n * n; ++i)
    image[i] = i * 2 + 1;
  int *in, *out;
  cudaMalloc(&in, n * n * sizeof(int));
  cudaMalloc(&out, n * n * sizeof(int));
  cudaMemset(out, 0, n * n * sizeof(int));
  cudaMemcpy(in, image.data(), n * n * sizeof(int), cudaMemcpyHostToDevice);
  dim3 grid((n + BX - 1) / BX, (n + BY - 1) / BY);
  dim3 block(BX, BY);
  flip<<<grid, block>>>(in, out, n);
  cudaMemcpy(flipped.data(), out, n * n * sizeof(int), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int y = 0; y < n; ++y)
    for (int x = 0; x < n; ++x)
      wrong += flipped[x * n + y] != image[y * n + x];
  printf("%d: %d wrong\n", n, wrong);
  cudaFree(in);
  cudaFree(out);
  return 0;
}

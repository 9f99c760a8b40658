// EXPECT: some
// WHY: whole tiles on the device, the rest on the host: a larger tile leaves elements to nobody, a smaller grid too
// SIZES: 64,100,250,777
// NAIVE: TILE in cube: 64 differs at 100
// NAIVE: TILE in cube: 16 same
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 32

__global__ void cube(const int *in, int *out) {
  __shared__ int part[TILE];
  int i = blockIdx.x * TILE + threadIdx.x;
  part[threadIdx.x] = in[i];
  __syncthreads();
  int v = part[threadIdx.x];
  out[i] = v * v * v;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 100;
  std::vector<int> in(n), out(n, 0);
  for (int i = 0; i < n; ++i)
    in[i] = i % 19 - 9;
  int *d_in, *d_out;
  cudaMalloc(&d_in, n * sizeof(int));
  cudaMalloc(&d_out, n * sizeof(int));
  cudaMemset(d_out, 0, n * sizeof(int));
  cudaMemcpy(d_in, in.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  if (n >= TILE)
    cube<<<n / TILE, TILE>>>(d_in, d_out);
  cudaMemcpy(out.data(), d_out, n * sizeof(int), cudaMemcpyDeviceToHost);
  for (int i = n / TILE * TILE; i < n; ++i)
    out[i] = in[i] * in[i] * in[i];
  int wrong = 0;
  long sum = 0;
  for (int i = 0; i < n; ++i) {
    wrong += out[i] != in[i] * in[i] * in[i];
    sum += (long)out[i] * (i % 4 + 1);
  }
  printf("%d wrong, sum %ld\n", wrong, sum);
  cudaFree(d_in);
  cudaFree(d_out);
  return 0;
}

// EXPECT: keep
// WHY: the last block to come finishes, known by the number of blocks that the host passes as an argument
// SIZES: 128,300,1000,1500
// NAIVE: BLOCK in maximum: 64 differs at 300
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define BLOCK 128

__device__ int g_tickets;

__global__ void maximum(const int *in, int n, int blocks, int *result) {
  __shared__ int largest;
  if (threadIdx.x == 0)
    largest = -1;
  __syncthreads();
  int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n)
    atomicMax(&largest, in[i]);
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicMax(&result[0], largest);
    __threadfence();
    if (atomicAdd(&g_tickets, 1) == blocks - 1) {
      result[1] = atomicMax(&result[0], 0);
      g_tickets = 0;
    }
  }
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1000;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i)
    values[i] = i < n / 2 ? (i * 37) % 501 : i + 400;
  int *in, *d_result, result[2];
  cudaMalloc(&in, n * sizeof(int));
  cudaMalloc(&d_result, sizeof result);
  cudaMemcpy(in, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  for (int round = 0; round < 2; ++round) {
    cudaMemset(d_result, 0, sizeof result);
    const int blocks = (n + BLOCK - 1) / BLOCK;
    maximum<<<blocks, BLOCK>>>(in, n, blocks, d_result);
    cudaMemcpy(result, d_result, sizeof result, cudaMemcpyDeviceToHost);
    printf("round %d: %d, said %d\n", round, result[0], result[1]);
  }
  cudaFree(in);
  cudaFree(d_result);
  return 0;
}

// EXPECT: tile
// WHY: control: a maximum of integers by halves, then atomicMax: no order can be seen
// SIZES: 64,100,1000,3000
// NAIVE: BLOCK in largest: 32, 64, 512 same
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define BLOCK 256

__global__ void largest(const int *values, int n, int *result) {
  __shared__ int best[BLOCK];
  int mine = INT_MIN;
  for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK)
    mine = max(mine, values[i]);
  best[threadIdx.x] = mine;
  __syncthreads();
  for (int half = BLOCK / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      best[threadIdx.x] = max(best[threadIdx.x], best[threadIdx.x + half]);
    __syncthreads();
  }
  if (threadIdx.x == 0)
    atomicMax(result, best[0]);
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1000;
  int *values = (int *)malloc(n * sizeof(int));
  for (int i = 0; i < n; ++i)
    values[i] = (int)((i + 1) * 2246822519u >> 3) % 100000 - 50000;
  int *d_values, *d_result, found = INT_MIN, expected = INT_MIN;
  cudaMalloc((void **)&d_values, n * sizeof(int));
  cudaMalloc((void **)&d_result, sizeof(int));
  for (int round = 0; round < 3; ++round) {
    values[(round * 97) % n] += 1000 * round;
    found = INT_MIN;
    cudaMemcpy(d_values, values, n * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemcpy(d_result, &found, sizeof(int), cudaMemcpyHostToDevice);
    largest<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(d_values, n, d_result);
    cudaMemcpy(&found, d_result, sizeof(int), cudaMemcpyDeviceToHost);
    expected = INT_MIN;
    for (int i = 0; i < n; ++i)
      expected = values[i] > expected ? values[i] : expected;
    printf("round %d: %d (%s)\n", round, found, found == expected ? "right" : "wrong");
  }
  cudaFree(d_values);
  cudaFree(d_result);
  free(values);
  return 0;
}

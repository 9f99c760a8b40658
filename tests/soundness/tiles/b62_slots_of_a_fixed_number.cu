// EXPECT: some
// WHY: 32 slots are enough for 4,096 elements by 128; by 32 they overflow into the result from 1,025 on, smaller sizes agree
// SIZES: 100,500,1000,3000
// NAIVE: BLOCK in squares: 32 differs at 3000
// NAIVE: BLOCK in squares: 256 same
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

constexpr int BLOCK = 128;

struct Work {
  int slots[32];
  int total;
  int tickets;
};

__global__ void squares(const int *in, int n, Work *work) {
  __shared__ int sum;
  if (threadIdx.x == 0)
    sum = 0;
  __syncthreads();
  int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n)
    atomicAdd(&sum, in[i] * in[i]);
  __syncthreads();
  if (threadIdx.x == 0) {
    work->slots[blockIdx.x] = sum;
    __threadfence();
    if (atomicAdd(&work->tickets, 1) == (int)gridDim.x - 1) {
      int total = 0;
      for (int b = 0; b < gridDim.x; ++b)
        total += work->slots[b];
      work->total = total;
    }
  }
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1000;
  if (n > 32 * BLOCK) {
    fprintf(stderr, "at most %d\n", 32 * BLOCK);
    return 1;
  }
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i)
    values[i] = i % 43 - 21;
  int *in;
  Work *d_work, work;
  cudaMalloc(&in, n * sizeof(int));
  cudaMalloc(&d_work, sizeof(Work));
  cudaMemset(d_work, 0, sizeof(Work));
  cudaMemcpy(in, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  squares<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(in, n, d_work);
  cudaMemcpy(&work, d_work, sizeof(Work), cudaMemcpyDeviceToHost);
  printf("%d values, squares %d\n", n, work.total);
  cudaFree(in);
  cudaFree(d_work);
  return 0;
}

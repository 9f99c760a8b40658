// EXPECT: keep
// WHY: the grid is what fits on the device by an occupancy call with the macro; each block writes a slot
// SIZES: 100,1000,5000,9001
// NAIVE: BLOCK in strided: 64 differs at 1000
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define BLOCK 256

__global__ void strided(const int *in, int n, int *slots) {
  __shared__ int sum;
  if (threadIdx.x == 0)
    sum = 0;
  __syncthreads();
  int mine = 0;
  for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK)
    mine += in[i];
  atomicAdd(&sum, mine);
  __syncthreads();
  if (threadIdx.x == 0)
    slots[blockIdx.x] = sum;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1000;
  int per_sm = 0;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, strided, BLOCK, 0);
  int resident = per_sm > 0 ? 4 : 0, blocks = (n + BLOCK - 1) / BLOCK;
  if (blocks > resident)
    blocks = resident;
  std::vector<int> values(n), slots(blocks);
  for (int i = 0; i < n; ++i)
    values[i] = i % 29;
  int *in, *d_slots;
  cudaMalloc(&in, n * sizeof(int));
  cudaMalloc(&d_slots, blocks * sizeof(int));
  cudaMemcpy(in, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  strided<<<blocks, BLOCK>>>(in, n, d_slots);
  cudaMemcpy(slots.data(), d_slots, blocks * sizeof(int), cudaMemcpyDeviceToHost);
  long sum = 0;
  for (int b = 0; b < blocks; ++b) {
    printf("block %d: %d\n", b, slots[b]);
    sum += slots[b];
  }
  printf("sum %ld\n", sum);
  return 0;
}

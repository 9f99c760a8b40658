// EXPECT: keep
// WHY: a generator per thread, seeded by thread and block: the sequence belongs to the place in the tile
// SIZES: 64,100,400,1000
// NAIVE: BLOCK in throw_darts: 128 differs at 400
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

enum { BLOCK = 64, THROWS = 25 };

__device__ unsigned next(unsigned &state) {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

__global__ void throw_darts(int players, int *hits) {
  __shared__ int inside;
  if (threadIdx.x == 0)
    inside = 0;
  __syncthreads();
  unsigned state = 1234567u + 7919u * threadIdx.x + 104729u * blockIdx.x;
  int mine = 0;
  for (int t = 0; t < THROWS; ++t) {
    unsigned x = next(state) >> 17, y = next(state) >> 17;
    mine += x * x + y * y < 1u << 30;
  }
  if (blockIdx.x * BLOCK + threadIdx.x < players)
    atomicAdd(&inside, mine);
  __syncthreads();
  if (threadIdx.x == 0)
    atomicAdd(hits, inside);
}

int main(int argc, char **argv) {
  const int players = argc > 1 ? atoi(argv[1]) : 400;
  int *d_hits, hits = 0;
  cudaMalloc(&d_hits, sizeof(int));
  cudaMemset(d_hits, 0, sizeof(int));
  const int blocks = (players + BLOCK - 1) / BLOCK;
  throw_darts<<<blocks, BLOCK>>>(players, d_hits);
  cudaMemcpy(&hits, d_hits, sizeof(int), cudaMemcpyDeviceToHost);
  const int throws = players * THROWS;
  printf("%d of %d: pi is about %.5f\n", hits, throws, 4.0 * hits / throws);
  cudaFree(d_hits);
  return 0;
}

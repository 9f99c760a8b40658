// EXPECT: keep
// WHY: a smoother that uses new values inside its tile and old ones at the border of it
// SIZES: 32,50,128,300
// NAIVE: TILE in smooth: 16 differs at 50
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>
#include <cuda_runtime.h>

#define TILE 32

__global__ void smooth(const int *old, int *now, int n) {
  __shared__ int line[TILE + 2];
  int i = blockIdx.x * TILE + threadIdx.x, t = threadIdx.x + 1;
  line[t] = i < n ? old[i] : 0;
  if (t == 1) {
    line[0] = i > 0 ? old[i - 1] : 0;
    line[TILE + 1] = i + TILE < n ? old[i + TILE] : 0;
  }
  __syncthreads();
  // Red points first, then black ones with the new red ones.
  for (int colour = 0; colour < 2; ++colour) {
    int value = (line[t - 1] + 2 * line[t] + line[t + 1]) / 4;
    __syncthreads();
    if (t % 2 == colour)
      line[t] = value;
    __syncthreads();
  }
  if (i < n)
    now[i] = line[t];
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 128;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i)
    values[i] = (i * 911 % 1000) * 16;
  int *a, *b;
  cudaMalloc(&a, n * sizeof(int));
  cudaMalloc(&b, n * sizeof(int));
  cudaMemcpy(a, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  for (int sweep = 0; sweep < 4; ++sweep) {
    smooth<<<(n + TILE - 1) / TILE, TILE>>>(a, b, n);
    std::swap(a, b);
  }
  cudaMemcpy(values.data(), a, n * sizeof(int), cudaMemcpyDeviceToHost);
  long sum = 0, rough = 0;
  for (int i = 1; i < n; ++i) {
    rough += labs(values[i] - values[i - 1]);
    sum += (long)values[i] * i;
  }
  printf("%d points: roughness %ld, moment %ld\n", n, rough, sum);
  return 0;
}

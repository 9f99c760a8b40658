// EXPECT: keep
// WHY: the weight of a step is specialised for tiles of 16; the general one rounds otherwise
// SIZES: 40,64,200,1000
// NAIVE: TILE in relax: 32 differs at 200
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

constexpr int TILE = 16;

template <int N> struct Step {
  static __device__ int apply(int a, int b) { return (a * 3 + b) / 4; }
};
template <> struct Step<16> {
  static __device__ int apply(int a, int b) { return a - (a - b) / 4; }
};

__global__ void relax(int *values, const int *targets, int n) {
  __shared__ int goal[TILE];
  int i = blockIdx.x * TILE + threadIdx.x;
  goal[threadIdx.x] = i < n ? targets[i] : 0;
  __syncthreads();
  if (i < n)
    values[i] = Step<TILE>::apply(values[i], goal[threadIdx.x]);
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 200;
  std::vector<int> values(n), targets(n);
  for (int i = 0; i < n; ++i) {
    values[i] = i * 5 % 103;
    targets[i] = 100 - i % 71;
  }
  int *d_values, *d_targets;
  cudaMalloc(&d_values, n * sizeof(int));
  cudaMalloc(&d_targets, n * sizeof(int));
  cudaMemcpy(d_values, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemcpy(d_targets, targets.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  for (int step = 0; step < 5; ++step)
    relax<<<(n + TILE - 1) / TILE, TILE>>>(d_values, d_targets, n);
  cudaMemcpy(values.data(), d_values, n * sizeof(int), cudaMemcpyDeviceToHost);
  int far = 0;
  long sum = 0;
  for (int i = 0; i < n; ++i) {
    far += values[i] != targets[i];
    sum += values[i];
  }
  printf("%d of %d are not there yet, sum %ld\n", far, n, sum);
  return 0;
}

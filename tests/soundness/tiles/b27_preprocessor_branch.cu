// EXPECT: keep
// WHY: one tile has arithmetic of its own behind #if, rounded in another way
// SIZES: 32,100,256,500
// NAIVE: TILE in average: 8 differs at 100
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 16

#if TILE == 16
#define HALVED(x) (((x) + 1) >> 1) /* rounds up: the tuned path */
#else
#define HALVED(x) ((x) / 2)
#endif

__global__ void average(const int *in, int *out, int n) {
  __shared__ int line[TILE];
  int i = blockIdx.x * TILE + threadIdx.x;
  line[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  int other = line[threadIdx.x ^ 1];
#if TILE % 16 == 0
  int mean = HALVED(line[threadIdx.x] + other);
#else
  int mean = (line[threadIdx.x] + other) / 2;
#endif
  if (i < n)
    out[i] = mean;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 100;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i)
    values[i] = (i * 17) % 53 - 20;
  int *in, *out;
  cudaMalloc(&in, n * sizeof(int));
  cudaMalloc(&out, n * sizeof(int));
  cudaMemcpy(in, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  average<<<(n + TILE - 1) / TILE, TILE>>>(in, out, n);
  cudaMemcpy(values.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost);
  long sum = 0;
  for (int value : values)
    sum = sum * 3 % 1000003 + value;
  printf("n %d sum %ld\n", n, sum);
  cudaFree(in);
  cudaFree(out);
  return 0;
}

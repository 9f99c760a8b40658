// EXPECT: keep
// WHY: planes behind the twentieth of a batch get the side of the tile
// SIZES: 20,33,40
// NAIVE: TILE in shift: 8 differs at 33
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

enum { TILE = 16 };

__global__ void shift(const int *in, int *out, int n) {
  __shared__ int s[TILE][TILE + 1];
  const int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  const int at = blockIdx.z * n * n + y * n + x;
  if (x < n && y < n)
    s[threadIdx.y][threadIdx.x] = in[at];
  __syncthreads();
  if (x < n && y < n)
    out[at] = s[threadIdx.y][threadIdx.x] + (blockIdx.z >= 20 ? TILE : 1);
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 33, planes = n;
  std::vector<int> values(n * n * planes);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = i % 23;
  int *in, *out;
  cudaMalloc(&in, values.size() * sizeof(int));
  cudaMalloc(&out, values.size() * sizeof(int));
  cudaMemcpy(in, values.data(), values.size() * sizeof(int), cudaMemcpyHostToDevice);
  shift<<<dim3((n + TILE - 1) / TILE, (n + TILE - 1) / TILE, planes), dim3(TILE, TILE)>>>(in, out, n);
  cudaMemcpy(values.data(), out, values.size() * sizeof(int), cudaMemcpyDeviceToHost);
  long long sum = 0;
  for (size_t i = 0; i < values.size(); ++i)
    sum += values[i] * (long long)(i % 7 + 1);
  printf("%lld\n", sum);
  return 0;
}

// EXPECT: keep
// WHY: blocks of a grid-stride loop leave a sum each, which the host adds up with weights
// SIZES: 100,500,1000,3000
// NAIVE: kBlock in sums: 64 differs at 500
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

struct Shape {
  static constexpr int kBlock = 128;
};

__global__ void sums(const int *in, int *partial, int n) {
  __shared__ int s[Shape::kBlock];
  int mine = 0;
  for (int i = blockIdx.x * Shape::kBlock + threadIdx.x; i < n; i += gridDim.x * Shape::kBlock)
    mine += in[i];
  s[threadIdx.x] = mine;
  __syncthreads();
  for (int half = Shape::kBlock / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      s[threadIdx.x] += s[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    partial[blockIdx.x] = s[0];
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 500;
  const int blocks = n > 4 * Shape::kBlock ? 4 : (n + Shape::kBlock - 1) / Shape::kBlock;
  std::vector<int> values(n), partial(blocks);
  for (int i = 0; i < n; ++i)
    values[i] = i % 23 - 4;
  int *in, *out;
  cudaMalloc(&in, n * sizeof(int));
  cudaMalloc(&out, blocks * sizeof(int));
  cudaMemcpy(in, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  sums<<<blocks, Shape::kBlock>>>(in, out, n);
  cudaMemcpy(partial.data(), out, blocks * sizeof(int), cudaMemcpyDeviceToHost);
  long long sum = 0;
  for (int i = 0; i < blocks; ++i)
    sum += partial[i] * (i + 1LL);
  printf("%lld\n", sum);
  return 0;
}

// EXPECT: keep
// WHY: the kernel is launched by its name and, in a table, by its address with a block of the host's own
// SIZES: 64,100,333,1000
// NAIVE: WIDTH in first: 64 differs at 100
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define WIDTH 32

__global__ void first(const int *in, int *out, int n) {
  __shared__ int line[WIDTH];
  int i = blockIdx.x * WIDTH + threadIdx.x;
  line[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  if (i < n)
    out[i] = line[threadIdx.x] * 2 + 1;
}

__global__ void second(const int *in, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = in[i] * 3 - 1;
}

struct Stage {
  const void *kernel;
  int block;
};

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 333;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i)
    values[i] = i % 12;
  int *a, *b;
  cudaMalloc(&a, n * sizeof(int));
  cudaMalloc(&b, n * sizeof(int));
  cudaMemcpy(a, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  first<<<(n + WIDTH - 1) / WIDTH, WIDTH>>>(a, b, n);
  const Stage stages[] = {{(const void *)second, 32}, {(const void *)first, 32}, {(const void *)second, 64}};
  for (const Stage &stage : stages) {
    int *from = b, *to = a;
    void *arguments[] = {&from, &to, &n};
    dim3 blocks((n + stage.block - 1) / stage.block);
    cudaLaunchKernel(stage.kernel, blocks, dim3(stage.block), arguments, 0, nullptr);
    cudaMemcpy(b, a, n * sizeof(int), cudaMemcpyDeviceToDevice);
  }
  cudaMemcpy(values.data(), b, n * sizeof(int), cudaMemcpyDeviceToHost);
  unsigned hash = 0;
  for (int value : values)
    hash = hash * 23u + value;
  printf("%d stages: %d %d %08x\n", 4, values[0], values[n - 1], hash);
  return 0;
}

// EXPECT: some
// WHY: the kernel itself is specialised for 32, with a polynomial that is rounded in another way
// SIZES: 32,100,256,500
// NAIVE: WIDE in decay: 32 differs at 100
// NAIVE: WIDE in decay: 8, 64 same
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

template <int T> __global__ void decay(const int *in, int *out, int n) {
  __shared__ int line[T];
  int i = blockIdx.x * T + threadIdx.x;
  line[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  if (i < n)
    out[i] = line[threadIdx.x] - line[threadIdx.x] / 8;
}

// One warp: without shared memory, in fixed point.
template <> __global__ void decay<32>(const int *in, int *out, int n) {
  int i = blockIdx.x * 32 + threadIdx.x;
  if (i < n)
    out[i] = (in[i] * 7) >> 3;
}

int main(int argc, char **argv) {
  constexpr int WIDE = 16;
  const int n = argc > 1 ? atoi(argv[1]) : 256;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i)
    values[i] = i * 3 - 150;
  int *a, *b;
  cudaMalloc(&a, n * sizeof(int));
  cudaMalloc(&b, n * sizeof(int));
  cudaMemcpy(a, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  for (int step = 0; step < 2; ++step) {
    decay<WIDE><<<(n + WIDE - 1) / WIDE, WIDE>>>(a, b, n);
    cudaMemcpy(a, b, n * sizeof(int), cudaMemcpyDeviceToDevice);
  }
  cudaMemcpy(values.data(), b, n * sizeof(int), cudaMemcpyDeviceToHost);
  long sum = 0;
  for (int i = 0; i < n; ++i)
    sum += (long)values[i] * (i % 10 + 1);
  printf("%d %d %ld\n", values[0], values[n - 1], sum);
  return 0;
}

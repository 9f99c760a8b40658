// EXPECT: keep
// WHY: each block writes a record of as many elements as its class says, and the host reads them so
// SIZES: 100,1000,5001
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

template <typename T, int THREADS>
struct Record {
  static constexpr int threads = THREADS, length = THREADS + 1;
  static dim3 grid(int n) { return dim3((n + threads - 1) / threads); }
};

template <class Format, typename T>
__global__ void written(int n, const T *x, T *out) {
  __shared__ T s[Format::threads];
  const int i = blockIdx.x * Format::threads + threadIdx.x;
  s[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  T *record = out + (size_t)blockIdx.x * Format::length;
  record[1 + threadIdx.x] = s[Format::threads - 1 - threadIdx.x];
  if (threadIdx.x == 0) record[0] = blockIdx.x;
}

using OfInts = Record<int, 64>;

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1000;
  const int records = (n + OfInts::threads - 1) / OfInts::threads;
  std::vector<int> x(n), file(records * OfInts::length);
  for (int i = 0; i < n; ++i) x[i] = i * 37 % 101;
  int *values, *out;
  cudaMalloc(&values, n * sizeof(int));
  cudaMalloc(&out, file.size() * sizeof(int));
  cudaMemcpy(values, x.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  written<OfInts><<<OfInts::grid(n), OfInts::threads>>>(n, values, out);
  cudaMemcpy(file.data(), out, file.size() * sizeof(int), cudaMemcpyDeviceToHost);
  unsigned hash = 0;
  for (int r = 0; r < records; ++r)
    for (int k = 1; k < OfInts::length; ++k) hash = hash * 31 + file[r * OfInts::length + k];
  printf("%u\n", hash);
}

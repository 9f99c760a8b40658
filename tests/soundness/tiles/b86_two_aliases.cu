// EXPECT: keep
// WHY: the alias means another class in each function, and the host adds what each block of rows wrote
// SIZES: 100,1000,5001
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

template <int LANES, int ROWS>
struct Shape {
  static constexpr int lanes = LANES, rows = ROWS, threads = LANES * ROWS;
  static int blocks(int n) { return (n + threads - 1) / threads; }
};

template <class Config>
__global__ void sums(int n, const int *x, int *out) {
  __shared__ int s[Config::threads];
  const int i = blockIdx.x * Config::threads + threadIdx.x;
  s[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  if (threadIdx.x % Config::lanes == 0) {
    int sum = 0;
    for (int k = 0; k < Config::lanes; ++k) sum += s[threadIdx.x + k];
    out[blockIdx.x * Config::rows + threadIdx.x / Config::lanes] = sum;
  }
}

static int wide(int n, const int *x, int *out) {
  using Config = Shape<32, 4>;
  sums<Config><<<Config::blocks(n), Config::threads>>>(n, x, out);
  return Config::blocks(n) * Config::rows;
}

static int narrow(int n, const int *x, int *out) {
  using Config = Shape<8, 16>;
  sums<Config><<<Config::blocks(n), Config::threads>>>(n, x, out);
  return Config::blocks(n) * Config::rows;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1000;
  std::vector<int> x(n), part(n + 1024);
  for (int i = 0; i < n; ++i) x[i] = i * 37 % 101;
  int *values, *found;
  cudaMalloc(&values, n * sizeof(int));
  cudaMalloc(&found, part.size() * sizeof(int));
  cudaMemcpy(values, x.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  for (int round = 0; round < 2; ++round) {
    cudaMemset(found, 0, part.size() * sizeof(int));
    const int count = round ? wide(n, values, found) : narrow(n, values, found);
    cudaMemcpy(part.data(), found, part.size() * sizeof(int), cudaMemcpyDeviceToHost);
    unsigned hash = count;
    for (int k = 0; k < count; ++k) hash = hash * 31 + part[k];
    printf("%u\n", hash);
  }
}

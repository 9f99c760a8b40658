// EXPECT: keep
// WHY: the tile is a template argument of a host function, which allocates and sums by it; only the launch is copied
// SIZES: 64,150,400,1000
// NAIVE: T in extremes: 32 differs at 150
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

template <int B> __global__ void extremes(const int *in, int n, int *lows, int *highs) {
  __shared__ int low[B], high[B];
  int t = threadIdx.x, i = blockIdx.x * B + t;
  low[t] = high[t] = in[i < n ? i : n - 1];
  __syncthreads();
  for (int half = B / 2; half > 0; half /= 2) {
    if (t < half) {
      low[t] = min(low[t], low[t + half]);
      high[t] = max(high[t], high[t + half]);
    }
    __syncthreads();
  }
  if (t == 0) {
    lows[blockIdx.x] = low[0];
    highs[blockIdx.x] = high[0];
  }
}

template <int T> long spread(const std::vector<int> &values) {
  const int n = int(values.size()), count = (n + T - 1) / T;
  int *in, *found;
  cudaMalloc(&in, n * sizeof(int));
  cudaMalloc(&found, 2 * count * sizeof(int));
  cudaMemset(found, 0, 2 * count * sizeof(int));
  cudaMemcpy(in, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  extremes<T><<<(n + T - 1) / T, T>>>(in, n, found, found + count);
  std::vector<int> host(2 * count);
  cudaMemcpy(host.data(), found, 2 * count * sizeof(int), cudaMemcpyDeviceToHost);
  long sum = 0;
  for (int b = 0; b < count; ++b)
    sum += host[count + b] - host[b];
  cudaFree(in);
  cudaFree(found);
  return sum;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 400;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i)
    values[i] = (i * 83) % 509 + i;
  printf("spread by 64: %ld\n", spread<64>(values));
  printf("spread by 128: %ld\n", spread<128>(values));
  return 0;
}

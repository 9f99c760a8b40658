// EXPECT: some
// WHY: the largest float by comparisons, which let a NaN stay or go by its place
// SIZES: 64,300,1500,3001
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

__global__ void each(const float *in, float *out, int n) {
  __shared__ float best[1024];
  float mine = -1e30f;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    mine = in[blockIdx.x * n + i] > mine ? in[blockIdx.x * n + i] : mine;
  best[threadIdx.x] = mine;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      best[threadIdx.x] = best[threadIdx.x] > best[threadIdx.x + half] ? best[threadIdx.x] : best[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    out[blockIdx.x] = best[0];
}

template <class T> static void show(const char *what, const std::vector<T> &values) {
  unsigned long long hash = 1469598103934665603ull;
  const unsigned char *bytes = (const unsigned char *)values.data();
  for (size_t i = 0; i < values.size() * sizeof(T); ++i)
    hash = (hash ^ bytes[i]) * 1099511628211ull;
  printf("%s %016llx\n", what, hash);
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1000;
  std::vector<float> in(7 * n);
  std::vector<float> out(7);
  for (int i = 0; i < (int)in.size(); ++i) in[i] = i % 29 == 3 ? NAN : i % 31 == 5 ? -0.0f : i % 3 ? 0.0f : -1.0f;
  float *d_in;
  float *d_out;
  cudaMalloc(&d_in, in.size() * sizeof(float));
  cudaMalloc(&d_out, out.size() * sizeof(float));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemset(d_out, 0, out.size() * sizeof(float));

  each<<<7, 128>>>(d_in, d_out, n);
  cudaMemcpy(out.data(), d_out, out.size() * sizeof(float), cudaMemcpyDeviceToHost);

  show("maximum_with_nan", out);
  cudaFree(d_in);
  cudaFree(d_out);
  return 0;
}

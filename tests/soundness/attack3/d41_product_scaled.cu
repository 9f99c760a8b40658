// EXPECT: tile
// WHY: a product of floats in the order of k, scaled by alpha and beta
// SIZES: 16,45,90,130
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

template <int T>
__global__ void gemm(const float *in, float *out, int n, float alpha, float beta) {
  __shared__ float a[T][T], b[T][T];
  const int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * T + tx, y = blockIdx.y * T + ty;
  float sum = 0.0f;
  for (int k0 = 0; k0 < n; k0 += T) {
    a[ty][tx] = y < n && k0 + tx < n ? in[y * n + k0 + tx] : 0.0f;
    b[ty][tx] = x < n && k0 + ty < n ? in[(k0 + ty) * n + x] : 0.0f;
    __syncthreads();
    for (int k = 0; k < T; ++k)
      sum += a[ty][k] * b[k][tx];
    __syncthreads();
  }
  if (x < n && y < n)
    out[y * n + x] = alpha * sum + beta * out[y * n + x];
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
  std::vector<float> in(n * n);
  std::vector<float> out(n * n);
  for (int i = 0; i < (int)in.size(); ++i) in[i] = 1e-20f * (i % 13);
  float *d_in;
  float *d_out;
  cudaMalloc(&d_in, in.size() * sizeof(float));
  cudaMalloc(&d_out, out.size() * sizeof(float));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemset(d_out, 0, out.size() * sizeof(float));

  gemm<16><<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(d_in, d_out, n, 3e38f, 0.5f);
  cudaMemcpy(out.data(), d_out, out.size() * sizeof(float), cudaMemcpyDeviceToHost);

  show("product_scaled", out);
  cudaFree(d_in);
  cudaFree(d_out);
  return 0;
}

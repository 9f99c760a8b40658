// EXPECT: tile
// WHY: forces of all bodies are added in their order, tile by tile
// SIZES: 64,100,300,700
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

#define BODIES 64
__global__ void forces(const float *in, float *out, int n, float soft) {
  __shared__ float4 s[BODIES];
  const float4 *all = (const float4 *)in;
  const int i = blockIdx.x * BODIES + threadIdx.x;
  const float4 me = i < n ? all[i] : make_float4(0, 0, 0, 0);
  float fx = 0.0f;
  for (int first = 0; first < n; first += BODIES) {
    if (first + threadIdx.x < n)
      s[threadIdx.x] = all[first + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < BODIES && first + k < n; ++k) {
      const float dx = s[k].x - me.x, dy = s[k].y - me.y, r = rsqrtf(dx * dx + dy * dy + soft);
      fx += s[k].w * dx * r * r * r;
    }
    __syncthreads();
  }
  if (i < n)
    out[i] = fx;
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
  std::vector<float> in(4 * n);
  std::vector<float> out(n);
  for (int i = 0; i < (int)in.size(); ++i) in[i] = 0.37f * (i * 29 % 53);
  float *d_in;
  float *d_out;
  cudaMalloc(&d_in, in.size() * sizeof(float));
  cudaMalloc(&d_out, out.size() * sizeof(float));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemset(d_out, 0, out.size() * sizeof(float));

  forces<<<(n + BODIES - 1) / BODIES, BODIES>>>(d_in, d_out, n, 0.01f);
  cudaMemcpy(out.data(), d_out, out.size() * sizeof(float), cudaMemcpyDeviceToHost);

  show("forces_in_order", out);
  cudaFree(d_in);
  cudaFree(d_out);
  return 0;
}

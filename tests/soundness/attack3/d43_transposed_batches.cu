// EXPECT: tile
// WHY: a batch of transposes, one per plane of the grid
// SIZES: 20,45,90,201
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

constexpr int SIDE = 16;
__global__ void turn(const double *in, double *out, int w, int h) {
  __shared__ double s[SIDE][SIDE + 1];
  const size_t plane = (size_t)blockIdx.z * w * h;
  int x = blockIdx.x * SIDE + threadIdx.x, y = blockIdx.y * SIDE + threadIdx.y;
  if (x < w && y < h)
    s[threadIdx.y][threadIdx.x] = in[plane + (size_t)y * w + x];
  __syncthreads();
  x = blockIdx.y * SIDE + threadIdx.x, y = blockIdx.x * SIDE + threadIdx.y;
  if (x < h && y < w)
    out[plane + (size_t)y * h + x] = s[threadIdx.x][threadIdx.y];
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
  std::vector<double> in(n * (n / 3) * 3);
  std::vector<double> out(n * (n / 3) * 3);
  for (int i = 0; i < (int)in.size(); ++i) in[i] = 0.1 * i;
  double *d_in;
  double *d_out;
  cudaMalloc(&d_in, in.size() * sizeof(double));
  cudaMalloc(&d_out, out.size() * sizeof(double));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(double), cudaMemcpyHostToDevice);
  cudaMemset(d_out, 0, out.size() * sizeof(double));

  const int w = n, h = n / 3;
  turn<<<dim3((w + SIDE - 1) / SIDE, (h + SIDE - 1) / SIDE, 3), dim3(SIDE, SIDE)>>>(d_in, d_out, w, h);
  cudaMemcpy(out.data(), d_out, out.size() * sizeof(double), cudaMemcpyDeviceToHost);

  show("transposed_batches", out);
  cudaFree(d_in);
  cudaFree(d_out);
  return 0;
}

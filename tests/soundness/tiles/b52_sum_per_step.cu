// EXPECT: keep
// WHY: a tiled product of floats, guarded everywhere, but each step has a sum of its own, added once: other tiles round otherwise
// SIZES: 16,40,64,77
// NAIVE: TILE in matmul: 8 differs at 40
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 16

__global__ void matmul(const float *a, const float *b, float *c, int n) {
  __shared__ float as[TILE][TILE], bs[TILE][TILE];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
  float total = 0.f;
  for (int k0 = 0; k0 < n; k0 += TILE) {
    as[ty][tx] = row < n && k0 + tx < n ? a[row * n + k0 + tx] : 0.f;
    bs[ty][tx] = col < n && k0 + ty < n ? b[(k0 + ty) * n + col] : 0.f;
    __syncthreads();
    float step = 0.f;
    for (int k = 0; k < TILE; ++k)
      step += as[ty][k] * bs[k][tx];
    total += step;
    __syncthreads();
  }
  if (row < n && col < n)
    c[row * n + col] = total;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 64;
  const size_t bytes = n * n * sizeof(float);
  std::vector<float> a(n * n), b(n * n), c(n * n);
  for (int i = 0; i < n * n; ++i) {
    a[i] = std::sin(float(i));
    b[i] = std::cos(0.5f * i) + 0.1f;
  }
  float *da, *db, *dc;
  cudaMalloc(&da, bytes);
  cudaMalloc(&db, bytes);
  cudaMalloc(&dc, bytes);
  cudaMemcpy(da, a.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(db, b.data(), bytes, cudaMemcpyHostToDevice);
  dim3 block(TILE, TILE), grid((n + TILE - 1) / TILE, (n + TILE - 1) / TILE);
  matmul<<<grid, block>>>(da, db, dc, n);
  cudaMemcpy(c.data(), dc, bytes, cudaMemcpyDeviceToHost);
  double sum = 0, largest = 0;
  for (float value : c) {
    sum += value;
    largest = std::fmax(largest, std::fabs(value));
  }
  printf("%d: %.9g, sum %.17g, largest %.9g\n", n, c[0], sum, largest);
  cudaFree(da);
  cudaFree(db);
  cudaFree(dc);
  return 0;
}

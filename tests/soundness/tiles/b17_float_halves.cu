// EXPECT: keep
// WHY: the norm of each row is a sum of floats by halves in shared memory, whose order is the block
// SIZES: 20,64,100,150
// NAIVE: THREADS in norms: 128 differs at 100
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

static constexpr int THREADS = 64;

__global__ void norms(const float *m, float *result, int rows, int cols) {
  __shared__ float part[THREADS];
  const int row = blockIdx.x;
  float sum = 0.f;
  for (int c = threadIdx.x; c < cols; c += THREADS) {
    float v = m[row * cols + c];
    sum += v * v;
  }
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    result[row] = sqrtf(part[0]);
}

int main(int argc, char **argv) {
  const int rows = argc > 1 ? atoi(argv[1]) : 100, cols = 3 * rows + 7;
  std::vector<float> m(rows * cols), result(rows);
  for (size_t i = 0; i < m.size(); ++i)
    m[i] = std::sin(0.37f * i) * (1 + i % 13);
  float *d_m, *d_result;
  cudaMalloc(&d_m, m.size() * sizeof(float));
  cudaMalloc(&d_result, rows * sizeof(float));
  cudaMemcpy(d_m, m.data(), m.size() * sizeof(float), cudaMemcpyHostToDevice);
  norms<<<rows, THREADS>>>(d_m, d_result, rows, cols);
  cudaMemcpy(result.data(), d_result, rows * sizeof(float), cudaMemcpyDeviceToHost);
  double sum = 0;
  for (float norm : result)
    sum += norm;
  printf("%d rows: %.9g %.9g, all %.17g\n", rows, result[0], result[rows - 1], sum);
  cudaFree(d_m);
  cudaFree(d_result);
  return 0;
}

// EXPECT: tile
// WHY: control: floats, but each element adds its products in the order of k whatever the tile
// SIZES: 16,30,64,75
// NAIVE: BS in gemm: 4, 8, 32 same
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define BS 16
#define CHECK(call)                                                          \
  do {                                                                       \
    cudaError_t status = (call);                                             \
    if (status != cudaSuccess) {                                             \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
      exit(1);                                                               \
    }                                                                        \
  } while (0)

__global__ void gemm(float *C, const float *A, const float *B, int n) {
  __shared__ float As[BS][BS], Bs[BS][BS];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * BS + ty, col = blockIdx.x * BS + tx;
  float acc = 0.f;
  for (int m = 0; m < n; m += BS) {
    As[ty][tx] = (row < n && m + tx < n) ? A[row * n + m + tx] : 0.f;
    Bs[ty][tx] = (col < n && m + ty < n) ? B[(m + ty) * n + col] : 0.f;
    __syncthreads();
    int last = min(BS, n - m);
    for (int k = 0; k < last; ++k)
      acc = fmaf(As[ty][k], Bs[k][tx], acc);
    __syncthreads();
  }
  if (row < n && col < n)
    C[row * n + col] = acc;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 64;
  std::vector<float> a(n * n), b(n * n), c(n * n);
  for (int i = 0; i < n * n; ++i) {
    a[i] = 1.f / (1 + i % 37);
    b[i] = std::sqrt(float(i % 41)) - 3.f;
  }
  float *A, *B, *C;
  CHECK(cudaMalloc(&A, n * n * sizeof(float)));
  CHECK(cudaMalloc(&B, n * n * sizeof(float)));
  CHECK(cudaMalloc(&C, n * n * sizeof(float)));
  CHECK(cudaMemcpy(A, a.data(), n * n * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(B, b.data(), n * n * sizeof(float), cudaMemcpyHostToDevice));
  dim3 threads(BS, BS), grid((n + BS - 1) / BS, (n + BS - 1) / BS);
  gemm<<<grid, threads>>>(C, A, B, n);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(c.data(), C, n * n * sizeof(float), cudaMemcpyDeviceToHost));
  double sum = 0;
  for (float value : c)
    sum += value;
  printf("%.9g %.9g %.17g\n", c[0], c[n * n - 1], sum);
  return 0;
}

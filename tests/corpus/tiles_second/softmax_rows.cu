// Row-wise softmax: one block per row, tree reductions in shared memory.
// softmax_rows [rows] [cols]
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int BLOCK_SIZE = 256;
static_assert((BLOCK_SIZE & (BLOCK_SIZE - 1)) == 0, "tree reduction wants a power of two");

struct MaxOp {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct SumOp {
  __device__ float operator()(float a, float b) const { return a + b; }
};

template <class Op>
__device__ float blockReduce(float v, float* scratch, Op op) {
  const int t = threadIdx.x;
  scratch[t] = v;
  __syncthreads();
  for (int half = BLOCK_SIZE / 2; half > 0; half >>= 1) {
    if (t < half) scratch[t] = op(scratch[t], scratch[t + half]);
    __syncthreads();
  }
  const float result = scratch[0];
  __syncthreads();  // scratch may be reused by the caller
  return result;
}

__global__ void softmaxKernel(const float* x, float* y, int cols) {
  __shared__ float scratch[BLOCK_SIZE];
  const float* row = x + (size_t)blockIdx.x * cols;
  float* out = y + (size_t)blockIdx.x * cols;

  float m = -FLT_MAX;
  for (int c = threadIdx.x; c < cols; c += BLOCK_SIZE) m = fmaxf(m, row[c]);
  m = blockReduce(m, scratch, MaxOp());

  float sum = 0.f;
  for (int c = threadIdx.x; c < cols; c += BLOCK_SIZE) {
    const float e = expf(row[c] - m);
    out[c] = e;
    sum += e;
  }
  sum = blockReduce(sum, scratch, SumOp());

  const float scale = 1.f / sum;
  for (int c = threadIdx.x; c < cols; c += BLOCK_SIZE) out[c] *= scale;
}

int main(int argc, char** argv) {
  const int rows = argc > 1 ? atoi(argv[1]) : 1024;
  const int cols = argc > 2 ? atoi(argv[2]) : 1000;
  const size_t n = (size_t)rows * cols;

  std::vector<float> x(n), y(n);
  for (size_t i = 0; i < n; ++i)
    x[i] = 4.f * sinf(0.37f * (float)(i % 1009)) + 0.01f * (float)(i % 17);

  float *dx, *dy;
  cudaMalloc(&dx, n * sizeof(float));
  cudaMalloc(&dy, n * sizeof(float));
  cudaMemcpy(dx, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);

  softmaxKernel<<<rows, BLOCK_SIZE>>>(dx, dy, cols);

  cudaMemcpy(y.data(), dy, n * sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(dx);
  cudaFree(dy);
  if (cudaError_t e = cudaGetLastError(); e != cudaSuccess) {
    printf("CUDA error: %s\n", cudaGetErrorString(e));
    return 1;
  }

  int bad = 0;
  const int rowStep = rows / 50 + 1;
  for (int r = 0; r < rows; r += rowStep) {
    const float* xr = &x[(size_t)r * cols];
    const float* yr = &y[(size_t)r * cols];
    double m = xr[0], sum = 0.0;
    for (int c = 1; c < cols; ++c) m = fmax(m, (double)xr[c]);
    for (int c = 0; c < cols; ++c) sum += exp(xr[c] - m);
    for (int c = 0; c < cols; ++c) {
      const double want = exp(xr[c] - m) / sum;
      if (!(fabs(yr[c] - want) <= 1e-6 + 1e-4 * want)) ++bad;
    }
  }

  double checksum = 0.0;
  for (size_t i = 0; i < n; ++i) checksum += y[i] * (double)(i % 7 + 1);
  printf("rows=%d cols=%d checksum=%.6f bad=%d\n", rows, cols, checksum, bad);
  printf("%s\n", bad == 0 ? "PASS" : "FAIL");
  return bad == 0 ? 0 : 1;
}

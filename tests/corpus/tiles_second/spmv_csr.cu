// y = A x for a CSR matrix, "vector" kernel: LanesPerRow consecutive threads
// share a row and combine their partial sums with shuffles.
//
// spmv_csr [rows] [average nonzeros per row]

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

struct LaunchShape {
  enum : int { RowsPerBlock = 16, LanesPerRow = 16 };
  enum : int { Threads = RowsPerBlock * LanesPerRow };
};

struct CsrMatrix {
  int rows = 0;
  int cols = 0;
  std::vector<int> rowPtr;
  std::vector<int> colIdx;
  std::vector<float> values;
};

template <int RowsPerBlock, int LanesPerRow>
__global__ void spmvKernel(int rows, const int* __restrict__ rowPtr, const int* __restrict__ colIdx,
                           const float* __restrict__ values, const float* __restrict__ x,
                           float* __restrict__ y) {
  static_assert(LanesPerRow >= 1 && LanesPerRow <= 32 && (LanesPerRow & (LanesPerRow - 1)) == 0,
                "a row is shared by a power-of-two part of a warp");
  const int lane = threadIdx.x % LanesPerRow;
  const int row = blockIdx.x * RowsPerBlock + threadIdx.x / LanesPerRow;

  float sum = 0.0f;
  if (row < rows) {
    const int end = rowPtr[row + 1];
    for (int k = rowPtr[row] + lane; k < end; k += LanesPerRow) sum += values[k] * x[colIdx[k]];
  }

  // all lanes of the warp take part, also those past the last row
#pragma unroll
  for (int d = LanesPerRow / 2; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d, LanesPerRow);

  if (row < rows && lane == 0) y[row] = sum;
}

static CsrMatrix makeMatrix(int rows, int perRow) {
  CsrMatrix m;
  m.rows = m.cols = rows;
  m.rowPtr.push_back(0);
  unsigned s = 17;
  auto rnd = [&s]() {
    s = s * 1664525u + 1013904223u;
    return s >> 8;
  };
  for (int r = 0; r < rows; ++r) {
    const int len = static_cast<int>(rnd() % (2 * perRow + 1));  // uneven rows, some empty
    for (int k = 0; k < len; ++k) {
      // half of the entries near the diagonal, the others anywhere
      long c = (k & 1) ? static_cast<long>(rnd() % m.cols) : r + static_cast<long>(rnd() % 64) - 32;
      c = ((c % m.cols) + m.cols) % m.cols;
      m.colIdx.push_back(static_cast<int>(c));
      m.values.push_back(static_cast<float>(rnd() % 200) * 0.01f - 1.0f);
    }
    m.rowPtr.push_back(static_cast<int>(m.colIdx.size()));
  }
  return m;
}

template <typename T>
static T* toDevice(const std::vector<T>& v) {
  T* p = nullptr;
  const size_t bytes = v.size() * sizeof(T);
  if (cudaMalloc(&p, bytes ? bytes : sizeof(T)) != cudaSuccess ||
      cudaMemcpy(p, v.data(), bytes, cudaMemcpyHostToDevice) != cudaSuccess) {
    std::fprintf(stderr, "upload failed\n");
    std::exit(1);
  }
  return p;
}

int main(int argc, char** argv) {
  const int rows = argc > 1 ? std::atoi(argv[1]) : 16384;
  const int perRow = argc > 2 ? std::atoi(argv[2]) : 24;
  const CsrMatrix m = makeMatrix(rows, perRow);

  std::vector<float> x(m.cols), y(m.rows, 0.0f);
  for (int i = 0; i < m.cols; ++i) x[i] = 1.0f + static_cast<float>(i % 10) * 0.1f;

  int* dRowPtr = toDevice(m.rowPtr);
  int* dColIdx = toDevice(m.colIdx);
  float* dValues = toDevice(m.values);
  float* dX = toDevice(x);
  float* dY = toDevice(y);

  const int blocks = (rows + LaunchShape::RowsPerBlock - 1) / LaunchShape::RowsPerBlock;
  spmvKernel<LaunchShape::RowsPerBlock, LaunchShape::LanesPerRow>
      <<<blocks, LaunchShape::Threads>>>(rows, dRowPtr, dColIdx, dValues, dX, dY);
  cudaError_t err = cudaGetLastError();
  if (err == cudaSuccess)
    err = cudaMemcpy(y.data(), dY, y.size() * sizeof(float), cudaMemcpyDeviceToHost);
  if (err != cudaSuccess) {
    std::fprintf(stderr, "spmv: %s\n", cudaGetErrorString(err));
    return 1;
  }

  int wrong = 0;
  double checksum = 0.0;
  for (int r = 0; r < rows; ++r) {
    double want = 0.0, scale = 1.0;
    for (int k = m.rowPtr[r]; k < m.rowPtr[r + 1]; ++k) {
      const double t = static_cast<double>(m.values[k]) * x[m.colIdx[k]];
      want += t;
      scale += std::fabs(t);
    }
    if (!(std::fabs(want - y[r]) <= 1e-5 * scale)) ++wrong;
    checksum += y[r];
  }
  std::printf("rows=%d nnz=%zu checksum=%.5f wrong=%d\n", rows, m.values.size(), checksum, wrong);
  std::printf("%s\n", wrong ? "FAIL" : "PASS");

  cudaFree(dRowPtr);
  cudaFree(dColIdx);
  cudaFree(dValues);
  cudaFree(dX);
  cudaFree(dY);
  return wrong ? 1 : 0;
}

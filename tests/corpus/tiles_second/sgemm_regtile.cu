// Single precision GEMM, 2-D register tiling.
//
// Each block computes a BM x BN tile of C and walks along K in steps of BK.
// Each thread keeps a TM x TN sub-tile of C in registers.
//
// ./sgemm_regtile [M N K]

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

template <int BM, int BN, int BK, int TM, int TN>
__global__ void __launch_bounds__((BM / TM) * (BN / TN))
sgemm_kernel(int M, int N, int K, float alpha, const float* __restrict__ A,
             const float* __restrict__ B, float beta, float* __restrict__ C) {
  static_assert(BM % TM == 0, "BM must be a multiple of TM");
  static_assert(BN % TN == 0, "BN must be a multiple of TN");
  constexpr int kThreads = (BM / TM) * (BN / TN);

  // A tile is stored transposed so that the inner loop reads along BM.
  __shared__ float sA[BK][BM + 1];
  __shared__ float sB[BK][BN];

  const int tid = threadIdx.x;
  const int trow = tid / (BN / TN);
  const int tcol = tid % (BN / TN);
  const int row0 = blockIdx.y * BM;
  const int col0 = blockIdx.x * BN;

  float acc[TM][TN] = {};
  float fragA[TM];
  float fragB[TN];

  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = tid; i < BM * BK; i += kThreads) {
      const int r = i / BK;
      const int k = i % BK;
      const bool ok = (row0 + r < M) && (k0 + k < K);
      sA[k][r] = ok ? A[(size_t)(row0 + r) * K + (k0 + k)] : 0.0f;
    }
    for (int i = tid; i < BK * BN; i += kThreads) {
      const int k = i / BN;
      const int c = i % BN;
      const bool ok = (k0 + k < K) && (col0 + c < N);
      sB[k][c] = ok ? B[(size_t)(k0 + k) * N + (col0 + c)] : 0.0f;
    }
    __syncthreads();

#pragma unroll
    for (int k = 0; k < BK; ++k) {
#pragma unroll
      for (int i = 0; i < TM; ++i) fragA[i] = sA[k][trow * TM + i];
#pragma unroll
      for (int j = 0; j < TN; ++j) fragB[j] = sB[k][tcol * TN + j];
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) acc[i][j] += fragA[i] * fragB[j];
    }
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const int r = row0 + trow * TM + i;
    if (r >= M) break;
#pragma unroll
    for (int j = 0; j < TN; ++j) {
      const int c = col0 + tcol * TN + j;
      if (c < N) {
        const size_t at = (size_t)r * N + c;
        C[at] = alpha * acc[i][j] + beta * C[at];
      }
    }
  }
}

static int ceil_div(int a, int b) { return (a + b - 1) / b; }

void run_sgemm(int M, int N, int K, float alpha, const float* A, const float* B,
               float beta, float* C) {
  constexpr int BM = 64;
  constexpr int BN = 64;
  constexpr int BK = 8;
  constexpr int TM = 4;
  constexpr int TN = 4;
  dim3 grid(ceil_div(N, BN), ceil_div(M, BM));
  dim3 block((BM / TM) * (BN / TN));
  sgemm_kernel<BM, BN, BK, TM, TN><<<grid, block>>>(M, N, K, alpha, A, B, beta, C);
}

static void fill(std::vector<float>& v, unsigned s) {
  for (size_t i = 0; i < v.size(); ++i) {
    s ^= s << 13;
    s ^= s >> 17;
    s ^= s << 5;
    v[i] = static_cast<float>(s % 2001u) / 1000.0f - 1.0f;
  }
}

int main(int argc, char** argv) {
  int M = 1024, N = 1024, K = 1024;
  if (argc > 1) M = N = K = std::atoi(argv[1]);
  if (argc > 2) N = std::atoi(argv[2]);
  if (argc > 3) K = std::atoi(argv[3]);
  const float alpha = 1.5f, beta = 0.5f;

  std::vector<float> A((size_t)M * K), B((size_t)K * N), C((size_t)M * N);
  fill(A, 2463534242u);
  fill(B, 88675123u);
  fill(C, 521288629u);
  const std::vector<float> C0 = C;

  float *dA = nullptr, *dB = nullptr, *dC = nullptr;
  cudaMalloc(&dA, A.size() * sizeof(float));
  cudaMalloc(&dB, B.size() * sizeof(float));
  cudaMalloc(&dC, C.size() * sizeof(float));
  cudaMemcpy(dA, A.data(), A.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(dB, B.data(), B.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(dC, C.data(), C.size() * sizeof(float), cudaMemcpyHostToDevice);

  run_sgemm(M, N, K, alpha, dA, dB, beta, dC);
  cudaError_t err = cudaDeviceSynchronize();
  if (err == cudaSuccess) err = cudaGetLastError();
  if (err != cudaSuccess) {
    std::printf("CUDA error: %s\nFAIL\n", cudaGetErrorString(err));
    return 1;
  }
  cudaMemcpy(C.data(), dC, C.size() * sizeof(float), cudaMemcpyDeviceToHost);

  double checksum = 0.0;
  for (float x : C) checksum += x;

  double worst = 0.0;
  const size_t stride = C.size() / 1500 + 1;
  for (size_t at = 0; at < C.size(); at += stride) {
    const size_t r = at / N, c = at % N;
    double dot = 0.0;
    for (int k = 0; k < K; ++k) dot += (double)A[r * K + k] * B[(size_t)k * N + c];
    const double want = alpha * dot + beta * C0[at];
    worst = std::fmax(worst, std::fabs(want - C[at]) / (1.0 + std::fabs(want)));
  }
  const bool pass = worst < 1e-3;
  std::printf("checksum = %.5f  max rel err = %.2e\n%s\n", checksum, worst,
              pass ? "PASS" : "FAIL");

  cudaFree(dA);
  cudaFree(dB);
  cudaFree(dC);
  return pass ? 0 : 1;
}

// EXPECT: keep
// WHY: TILE and TILE_SHIFT must agree; only one of them is the block
// SIZES: 16,100,256,777
// NAIVE: TILE in spread: 32 differs at 100
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 16
#define TILE_SHIFT 4

__global__ void spread(const unsigned *in, unsigned *out, int n) {
  __shared__ unsigned row[TILE];
  unsigned lane = threadIdx.x;
  unsigned i = (blockIdx.x << TILE_SHIFT) + lane;
  row[lane] = i < n ? in[i] : 0u;
  __syncthreads();
  unsigned mixed = row[lane] + (row[(lane + 1) % TILE] << 8);
  if (i < n)
    out[i] = mixed ^ (i >> TILE_SHIFT);
}

static unsigned checksum(const std::vector<unsigned> &values) {
  unsigned a = 1, b = 0;
  for (unsigned v : values) {
    a = (a + v) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 100;
  std::vector<unsigned> values(n);
  for (int i = 0; i < n; ++i)
    values[i] = (i * 73 + 19) & 255;
  unsigned *in, *out;
  cudaMalloc(&in, n * sizeof(unsigned));
  cudaMalloc(&out, n * sizeof(unsigned));
  cudaMemcpy(in, values.data(), n * sizeof(unsigned), cudaMemcpyHostToDevice);
  cudaMemset(out, 0, n * sizeof(unsigned));
  const int tiles = (n + TILE - 1) / TILE;
  spread<<<tiles, TILE>>>(in, out, n);
  cudaMemcpy(values.data(), out, n * sizeof(unsigned), cudaMemcpyDeviceToHost);
  printf("%u %u %08x\n", values[0], values[n - 1], checksum(values));
  cudaFree(in);
  cudaFree(out);
  return 0;
}

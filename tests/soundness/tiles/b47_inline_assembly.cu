// EXPECT: keep
// WHY: the index is computed by inline PTX that has the tile as a literal
// SIZES: 32,100,256,700
// NAIVE: TILE in flip: 32 differs at 100
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

constexpr unsigned TILE = 16;

__device__ unsigned element() {
  unsigned i;
  asm("{\n\t"
      ".reg .u32 block, thread;\n\t"
      "mov.u32 block, %%ctaid.x;\n\t"
      "mov.u32 thread, %%tid.x;\n\t"
      "mad.lo.u32 %0, block, 16, thread;\n\t"
      "}"
      : "=r"(i));
  return i;
}

__global__ void flip(const unsigned *in, unsigned *out, unsigned n) {
  __shared__ unsigned line[TILE];
  unsigned i = element();
  line[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  if (i < n)
    out[i] = ~line[threadIdx.x];
}

int main(int argc, char **argv) {
  const unsigned n = argc > 1 ? atoi(argv[1]) : 100;
  std::vector<unsigned> values(n);
  for (unsigned i = 0; i < n; ++i)
    values[i] = i * 0x01010101u;
  unsigned *in, *out;
  cudaMalloc(&in, n * sizeof(unsigned));
  cudaMalloc(&out, n * sizeof(unsigned));
  cudaMemset(out, 0, n * sizeof(unsigned));
  cudaMemcpy(in, values.data(), n * sizeof(unsigned), cudaMemcpyHostToDevice);
  flip<<<(n + TILE - 1) / TILE, TILE>>>(in, out, n);
  cudaMemcpy(values.data(), out, n * sizeof(unsigned), cudaMemcpyDeviceToHost);
  unsigned wrong = 0, hash = 0;
  for (unsigned i = 0; i < n; ++i) {
    wrong += values[i] != ~(i * 0x01010101u);
    hash = hash * 7u + values[i];
  }
  printf("%u wrong, %08x\n", wrong, hash);
  cudaFree(in);
  cudaFree(out);
  return 0;
}

// EXPECT: keep
// WHY: the tile is a warp, so that __syncwarp is enough: two warps race; the emulated device prints the same
// SIZES: 64,100,512,1000
// NAIVE: LANES in sweep: 64 is caught at 512
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define LANES 32

__global__ void sweep(const int *in, int *out, int n) {
  __shared__ int line[LANES];
  int lane = threadIdx.x;
  int i = blockIdx.x * LANES + lane;
  line[lane] = i < n ? in[i] : 0;
  __syncwarp();
  for (int d = 1; d < LANES; d *= 2) {
    int other = lane >= d ? line[lane - d] : 0;
    __syncwarp();
    line[lane] += other;
    __syncwarp();
  }
  // The sum of the warp's aligned 32 up to here, whatever came before in the tile.
  int before = lane >= 32 ? line[(lane & ~31) - 1] : 0;
  if (i < n)
    out[i] = line[lane] - before;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 512;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i)
    values[i] = (i * 13) % 10 + 1;
  int *in, *out;
  cudaMalloc(&in, n * sizeof(int));
  cudaMalloc(&out, n * sizeof(int));
  cudaMemcpy(in, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  sweep<<<(n + LANES - 1) / LANES, LANES>>>(in, out, n);
  cudaMemcpy(values.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost);
  unsigned hash = 0;
  for (int value : values)
    hash = hash * 65599u + value;
  printf("last of the first warp %d, hash %08x\n", values[31], hash);
  cudaFree(in);
  cudaFree(out);
  return 0;
}

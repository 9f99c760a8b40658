// EXPECT: keep
// WHY: TILE is defined anew between two kernels: the first may take any value, the second has a record per tile
// SIZES: 32,60,128,333
// NAIVE: TILE in ranges: 8 differs at 60
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

constexpr int RANGE_TILE = 16;
#define COPY_TILE 32

namespace copying {
constexpr int TILE = COPY_TILE;
__global__ void mirror(const int *in, int *out, int n) {
  __shared__ int line[copying::TILE];
  int i = blockIdx.x * copying::TILE + threadIdx.x;
  line[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  if (i < n)
    out[n - 1 - i] = line[threadIdx.x];
}
}  // namespace copying

#define TILE 16

__global__ void ranges(const int *in, int2 *found, int n) {
  __shared__ int low, high;
  if (threadIdx.x == 0) {
    low = 1 << 30;
    high = -low;
  }
  __syncthreads();
  int i = blockIdx.x * TILE + threadIdx.x;
  if (i < n) {
    atomicMin(&low, in[i]);
    atomicMax(&high, in[i]);
  }
  __syncthreads();
  if (threadIdx.x == 0)
    found[blockIdx.x] = make_int2(low, high);
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 128, tiles = (n + RANGE_TILE - 1) / RANGE_TILE;
  std::vector<int> values(n);
  std::vector<int2> found(tiles);
  for (int i = 0; i < n; ++i)
    values[i] = i * i % 307;
  int *in, *out;
  int2 *d_found;
  cudaMalloc(&in, n * sizeof(int));
  cudaMalloc(&out, n * sizeof(int));
  cudaMalloc(&d_found, n * sizeof(int2));
  cudaMemcpy(in, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  copying::mirror<<<(n + COPY_TILE - 1) / COPY_TILE, COPY_TILE>>>(in, out, n);
  ranges<<<(n + TILE - 1) / TILE, TILE>>>(out, d_found, n);
  cudaMemcpy(found.data(), d_found, tiles * sizeof(int2), cudaMemcpyDeviceToHost);
  long widths = 0;
  for (int t = 0; t < tiles; ++t)
    widths += (found[t].y - found[t].x) * (t + 1L);
  printf("%d tiles, first %d..%d, widths %ld\n", tiles, found[0].x, found[0].y, widths);
  return 0;
}

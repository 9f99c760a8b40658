// EXPECT: keep
// WHY: from 1,500 elements on another path is taken, whose order is the tile's; smaller sizes agree with any
// SIZES: 64,500,1400,1777
// NAIVE: TILE in arrange: 64 differs at 1777
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 32
#define DIRECT_LIMIT 1500

__global__ void arrange(const int *in, int *out, int n, bool is_direct) {
  __shared__ int line[TILE];
  int t = threadIdx.x, i = blockIdx.x * TILE + t;
  line[t] = i < n ? in[i] : 0;
  __syncthreads();
  if (i >= n)
    return;
  if (is_direct) {
    out[i] = line[t] * 2;
  } else {
    // Column by column: neighbours in a tile are far from each other.
    int rows = (n + TILE - 1) / TILE;
    out[t * rows + blockIdx.x] = line[t] * 2;
  }
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 500;
  const int room = 2 * n + 4096;
  std::vector<int> values(n), result(room);
  for (int i = 0; i < n; ++i)
    values[i] = i * 3 + 1;
  int *in, *out;
  cudaMalloc(&in, n * sizeof(int));
  cudaMalloc(&out, room * sizeof(int));
  cudaMemset(out, 0, room * sizeof(int));
  cudaMemcpy(in, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  const bool is_direct = n < DIRECT_LIMIT;
  arrange<<<(n + TILE - 1) / TILE, TILE>>>(in, out, n, is_direct);
  cudaMemcpy(result.data(), out, room * sizeof(int), cudaMemcpyDeviceToHost);
  int ascents = 0;
  unsigned hash = 0;
  for (int i = 1; i < n; ++i) {
    ascents += result[i] > result[i - 1];
    hash = hash * 31u + result[i];
  }
  printf("%s: %d ascents, %08x\n", is_direct ? "direct" : "by columns", ascents, hash);
  cudaFree(in);
  cudaFree(out);
  return 0;
}

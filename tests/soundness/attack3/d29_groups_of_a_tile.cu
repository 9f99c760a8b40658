// EXPECT: tile
// WHY: sums of groups of threads are added by an atomic operation of integers
// SIZES: 64,300,1500,3001
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#define TILE 32
__global__ void total(const int *in, int *out, int n) {
  auto group = cg::tiled_partition<TILE>(cg::this_thread_block());
  const int i = blockIdx.x * TILE + threadIdx.x;
  int mine = i < n ? in[i] : 0;
  for (int step = TILE / 2; step > 0; step /= 2)
    mine += group.shfl_down(mine, step);
  if (group.thread_rank() == 0)
    atomicAdd(out, mine);
}

template <class T> static void show(const char *what, const std::vector<T> &values) {
  unsigned long long hash = 1469598103934665603ull;
  const unsigned char *bytes = (const unsigned char *)values.data();
  for (size_t i = 0; i < values.size() * sizeof(T); ++i)
    hash = (hash ^ bytes[i]) * 1099511628211ull;
  printf("%s %016llx\n", what, hash);
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1000;
  std::vector<int> in(n);
  std::vector<int> out(1);
  for (int i = 0; i < (int)in.size(); ++i) in[i] = i * 37 % 101 - 20;
  int *d_in;
  int *d_out;
  cudaMalloc(&d_in, in.size() * sizeof(int));
  cudaMalloc(&d_out, out.size() * sizeof(int));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(d_out, 0, out.size() * sizeof(int));

  total<<<(n + TILE - 1) / TILE, TILE>>>(d_in, d_out, n);
  cudaMemcpy(out.data(), d_out, out.size() * sizeof(int), cudaMemcpyDeviceToHost);

  show("groups_of_a_tile", out);
  cudaFree(d_in);
  cudaFree(d_out);
  return 0;
}

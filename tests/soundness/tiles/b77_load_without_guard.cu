// EXPECT: some
// WHY: loads have no guard, only stores: memory is rounded up to 16 elements, 128 leave it; nothing else is printed
// SIZES: 64,100,250,1000
// NAIVE: TILE in middle: 128 is caught at 100
// NAIVE: TILE in middle: 8 same
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

constexpr int TILE = 16;

__global__ void middle(const int *a, const int *b, const int *c, int *out, int n) {
  __shared__ int line[TILE];
  int i = blockIdx.x * TILE + threadIdx.x;
  int x = a[i], y = b[i], z = c[i];
  line[threadIdx.x] = max(min(x, y), min(max(x, y), z));
  __syncthreads();
  if (i < n)
    out[i] = line[threadIdx.x];
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 250;
  const int room = (n + TILE - 1) / TILE * TILE;
  std::vector<int> host(room);
  int *in[3], *out;
  for (int k = 0; k < 3; ++k) {
    for (int i = 0; i < room; ++i)
      host[i] = i < n ? (i * (k + 5) + 3 * k) % 101 : 0;
    cudaMalloc(&in[k], room * sizeof(int));
    cudaMemcpy(in[k], host.data(), room * sizeof(int), cudaMemcpyHostToDevice);
  }
  cudaMalloc(&out, n * sizeof(int));
  const int tiles = (n + TILE - 1) / TILE;
  middle<<<tiles, TILE>>>(in[0], in[1], in[2], out, n);
  cudaMemcpy(host.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost);
  long sum = 0;
  for (int i = 0; i < n; ++i)
    sum += (long)host[i] * (i % 14);
  printf("%d: %d %d %ld\n", n, host[0], host[n - 1], sum);
  for (int *p : in)
    cudaFree(p);
  cudaFree(out);
  return 0;
}

// EXPECT: some
// WHY: the loop over the tile is unrolled by eight by hand: a tile of 4 reads beyond its end
// SIZES: 32,50,96,130
// NAIVE: TILE in multiply: 4 differs at 50
// NAIVE: TILE in multiply: 8, 32 same
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

static constexpr int TILE = 16;

__global__ void multiply(const int *a, const int *b, int *c, int n) {
  __shared__ int as[TILE][TILE], bs[TILE][TILE];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx, sum = 0;
  for (int k0 = 0; k0 < n; k0 += TILE) {
    as[ty][tx] = row < n && k0 + tx < n ? a[row * n + k0 + tx] : 0;
    bs[ty][tx] = col < n && k0 + ty < n ? b[(k0 + ty) * n + col] : 0;
    __syncthreads();
    const int *left = &as[ty][0], *right = &bs[0][tx];
    for (int k = 0; k < TILE; k += 8, left += 8, right += 8 * TILE)
      sum += left[0] * right[0] + left[1] * right[TILE] + left[2] * right[2 * TILE] +
             left[3] * right[3 * TILE] + left[4] * right[4 * TILE] + left[5] * right[5 * TILE] +
             left[6] * right[6 * TILE] + left[7] * right[7 * TILE];
    __syncthreads();
  }
  if (row < n && col < n)
    c[row * n + col] = sum;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 96;
  const size_t bytes = n * n * sizeof(int);
  std::vector<int> a(n * n), b(n * n), c(n * n);
  for (int i = 0; i < n * n; ++i) {
    a[i] = i % 14 - 5;
    b[i] = i % 9 - 4;
  }
  int *da, *db, *dc;
  cudaMalloc(&da, bytes);
  cudaMalloc(&db, bytes);
  cudaMalloc(&dc, bytes);
  cudaMemcpy(da, a.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(db, b.data(), bytes, cudaMemcpyHostToDevice);
  dim3 block(TILE, TILE), grid((n + TILE - 1) / TILE, (n + TILE - 1) / TILE);
  multiply<<<grid, block>>>(da, db, dc, n);
  cudaMemcpy(c.data(), dc, bytes, cudaMemcpyDeviceToHost);
  long sum = 0;
  for (int i = 0; i < n * n; ++i)
    sum += (long)c[i] * (i % 6 + 1);
  printf("%d: %d %ld\n", n, c[n + 1], sum);
  return 0;
}

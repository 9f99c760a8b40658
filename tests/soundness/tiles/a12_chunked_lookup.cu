// EXPECT: tile
// WHY: control: only the chunk of a loop over a table has the constant, the block has its own
// SIZES: 50,128,300,777
// NAIVE: CHUNK in nearest: 8, 16, 64 same
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

constexpr int THREADS = 64;
constexpr int CHUNK = 32;

// The index of the nearest centre; the first one of equal distances.
__global__ void nearest(const int *points, int n, const int *centres, int k, int *found) {
  __shared__ int cached[CHUNK];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int mine = i < n ? points[i] : 0, best = -1, distance = 1 << 30;
  for (int first = 0; first < k; first += CHUNK) {
    for (int c = threadIdx.x; c < CHUNK && first + c < k; c += blockDim.x)
      cached[c] = centres[first + c];
    __syncthreads();
    for (int c = 0; c < CHUNK && first + c < k; ++c) {
      int d = abs(cached[c] - mine);
      if (d < distance) {
        distance = d;
        best = first + c;
      }
    }
    __syncthreads();
  }
  if (i < n)
    found[i] = best;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 300, k = n / 4 + 3;
  std::vector<int> points(n), centres(k), found(n);
  for (int i = 0; i < n; ++i)
    points[i] = (i * 48271) % 9973;
  for (int c = 0; c < k; ++c)
    centres[c] = (c * 16807) % 9973;
  int *d_points, *d_centres, *d_found;
  cudaMalloc(&d_points, n * sizeof(int));
  cudaMalloc(&d_centres, k * sizeof(int));
  cudaMalloc(&d_found, n * sizeof(int));
  cudaMemcpy(d_points, points.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemcpy(d_centres, centres.data(), k * sizeof(int), cudaMemcpyHostToDevice);
  nearest<<<(n + THREADS - 1) / THREADS, THREADS>>>(d_points, n, d_centres, k, d_found);
  cudaMemcpy(found.data(), d_found, n * sizeof(int), cudaMemcpyDeviceToHost);
  unsigned sum = 0;
  for (int i = 0; i < n; ++i)
    sum = sum * 17u + found[i];
  printf("%d points, %d centres: %d ... %d, %08x\n", n, k, found[0], found[n - 1], sum);
  return 0;
}

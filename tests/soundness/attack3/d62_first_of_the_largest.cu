// EXPECT: some
// WHY: the place of the largest element of a row: of equal ones, that of the tree
// SIZES: 64,300,1500,3001
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

__global__ void each(const int *in, int *out, int n) {
  __shared__ int best[1024], place[1024];
  int mine = -1, at = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    if (in[blockIdx.x * n + i] > mine) {
      mine = in[blockIdx.x * n + i];
      at = i;
    }
  best[threadIdx.x] = mine;
  place[threadIdx.x] = at;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half && best[threadIdx.x + half] > best[threadIdx.x]) {
      best[threadIdx.x] = best[threadIdx.x + half];
      place[threadIdx.x] = place[threadIdx.x + half];
    }
    __syncthreads();
  }
  if (threadIdx.x == 0)
    out[blockIdx.x] = place[0];
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
  std::vector<int> in(7 * n);
  std::vector<int> out(7);
  for (int i = 0; i < (int)in.size(); ++i) in[i] = i * 37 % 23;
  int *d_in;
  int *d_out;
  cudaMalloc(&d_in, in.size() * sizeof(int));
  cudaMalloc(&d_out, out.size() * sizeof(int));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(d_out, 0, out.size() * sizeof(int));

  each<<<7, 128>>>(d_in, d_out, n);
  cudaMemcpy(out.data(), d_out, out.size() * sizeof(int), cudaMemcpyDeviceToHost);

  show("first_of_the_largest", out);
  cudaFree(d_in);
  cudaFree(d_out);
  return 0;
}

// EXPECT: keep
// WHY: a file of runs: the kernel encodes each tile by itself, the reader on the host decodes 32 by 32
// SIZES: 32,80,200,640
// NAIVE: TILE in encode: 16 differs at 80
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

constexpr int TILE = 32;

// Differences to the element before; the first of each tile stands as it is.
__global__ void encode(const int *in, int *out, int n) {
  __shared__ int line[TILE];
  int t = threadIdx.x, i = blockIdx.x * TILE + t;
  line[t] = i < n ? in[i] : 0;
  __syncthreads();
  if (i < n)
    out[i] = t == 0 ? line[0] : line[t] - line[t - 1];
}

static std::vector<int> read_back(FILE *file) {
  int n = 0;
  rewind(file);
  if (fread(&n, sizeof n, 1, file) != 1)
    return {};
  std::vector<int> values(n);
  if (fread(values.data(), sizeof(int), n, file) != size_t(n))
    return {};
  for (int i = 0; i < n; ++i)
    if (i % 32 != 0)
      values[i] += values[i - 1];
  return values;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 200;
  std::vector<int> values(n), coded(n);
  for (int i = 0; i < n; ++i)
    values[i] = i * i % 977;
  int *in, *out;
  cudaMalloc(&in, n * sizeof(int));
  cudaMalloc(&out, n * sizeof(int));
  cudaMemcpy(in, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  encode<<<(n + TILE - 1) / TILE, TILE>>>(in, out, n);
  cudaMemcpy(coded.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost);
  FILE *file = tmpfile();
  if (file == nullptr)
    return 1;
  fwrite(&n, sizeof n, 1, file);
  fwrite(coded.data(), sizeof(int), n, file);
  const std::vector<int> again = read_back(file);
  fclose(file);
  printf("%zu values, %s\n", again.size(), again == values ? "as before" : "damaged");
  return 0;
}

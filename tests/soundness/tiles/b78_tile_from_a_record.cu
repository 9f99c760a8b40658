// EXPECT: keep
// WHY: the tile is the length of a record's array, taken by sizeof: the kernel copies whole records
// SIZES: 12,50,120,600
// NAIVE: TILE in invert: 8 differs at 50
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

struct Record {
  int values[12];
};
constexpr int TILE = sizeof(Record) / sizeof(int);

__global__ void invert(const Record *in, int *out, int n) {
  __shared__ Record record;
  if (threadIdx.x == 0)
    record = in[blockIdx.x];
  __syncthreads();
  int i = blockIdx.x * TILE + threadIdx.x;
  if (i < n)
    out[i] = -record.values[threadIdx.x] + record.values[threadIdx.x ^ 1];
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 120;
  const int count = (n + TILE - 1) / TILE;
  std::vector<Record> records(2 * count + 8);
  for (size_t r = 0; r < records.size(); ++r)
    for (int t = 0; t < TILE; ++t)
      records[r].values[t] = int(r * TILE + t) * 5 % 131;
  std::vector<int> result(n);
  Record *in;
  int *out;
  cudaMalloc(&in, records.size() * sizeof(Record));
  cudaMalloc(&out, n * sizeof(int));
  cudaMemcpy(in, records.data(), records.size() * sizeof(Record), cudaMemcpyHostToDevice);
  invert<<<(n + TILE - 1) / TILE, TILE>>>(in, out, n);
  cudaMemcpy(result.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost);
  unsigned hash = 0;
  for (int value : result)
    hash = hash * 79u + value;
  printf("%d records of %d: %08x\n", count, TILE, hash);
  cudaFree(in);
  cudaFree(out);
  return 0;
}

// EXPECT: keep
// WHY: the kernel writes its tile into a header of the result, which the host prints
// SIZES: 32,64,100,333
// NAIVE: TILE in pack: 16 differs at 100
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 32

struct Header {
  unsigned magic;
  unsigned short tile, version;
  unsigned count;
};

__global__ void pack(const int *in, unsigned char *out, int n) {
  __shared__ int low;
  if (threadIdx.x == 0)
    low = 0;
  __syncthreads();
  int i = blockIdx.x * TILE + threadIdx.x;
  if (i < n) {
    atomicMax(&low, in[i]);
    out[sizeof(Header) + i] = (unsigned char)(in[i] & 255);
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    Header *header = reinterpret_cast<Header *>(out);
    header->magic = 0x4b434150u;
    header->tile = TILE;
    header->version = 2;
    header->count = n;
  }
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 100;
  std::vector<int> in(n);
  for (int i = 0; i < n; ++i)
    in[i] = i * i % 251;
  int *d_in;
  unsigned char *d_out;
  const size_t bytes = sizeof(Header) + n;
  cudaMalloc(&d_in, n * sizeof(int));
  cudaMalloc(&d_out, bytes);
  cudaMemcpy(d_in, in.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  pack<<<(n + TILE - 1) / TILE, TILE>>>(d_in, d_out, n);
  std::vector<unsigned char> out(bytes);
  cudaMemcpy(out.data(), d_out, bytes, cudaMemcpyDeviceToHost);
  for (size_t i = 0; i < sizeof(Header); ++i)
    printf("%02x", out[i]);
  unsigned hash = 5381;
  for (unsigned char byte : out)
    hash = hash * 33 + byte;
  printf("\n%zu bytes, %08x\n", bytes, hash);
  return 0;
}

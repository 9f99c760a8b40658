// EXPECT: keep
// WHY: which function mixes the bits is chosen by the type of the tile; other tiles get the fallback
// SIZES: 32,64,150,600
// NAIVE: WIDTH in hash_lines: 32 differs at 150
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <vector>
#include <cuda_runtime.h>

const int WIDTH = 64;

__device__ unsigned mix(unsigned v, std::integral_constant<int, 64>) { return (v ^ v >> 15) * 0x85ebca6bu; }
__device__ unsigned mix(unsigned v, std::integral_constant<int, 128>) { return (v ^ v >> 13) * 0xc2b2ae35u; }
template <class Tag> __device__ unsigned mix(unsigned v, Tag) { return v * 2654435761u; }

__global__ void hash_lines(const unsigned *in, unsigned *out, int n) {
  __shared__ unsigned line[WIDTH];
  int i = blockIdx.x * WIDTH + threadIdx.x;
  line[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  unsigned value = line[threadIdx.x] + line[threadIdx.x ^ 3];
  if (i < n)
    out[i] = mix(value, std::integral_constant<int, WIDTH>{});
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 150;
  std::vector<unsigned> data(n);
  for (int i = 0; i < n; ++i)
    data[i] = 0x9e3779b9u * (i + 1);
  unsigned *in, *out;
  cudaMalloc(&in, n * sizeof(unsigned));
  cudaMalloc(&out, n * sizeof(unsigned));
  cudaMemcpy(in, data.data(), n * sizeof(unsigned), cudaMemcpyHostToDevice);
  int blocks = (n + WIDTH - 1) / WIDTH;
  hash_lines<<<blocks, WIDTH>>>(in, out, n);
  cudaMemcpy(data.data(), out, n * sizeof(unsigned), cudaMemcpyDeviceToHost);
  unsigned all = 0;
  for (unsigned value : data)
    all = (all << 5 | all >> 27) ^ value;
  printf("%08x %08x %08x\n", data[0], data[n - 1], all);
  cudaFree(in);
  cudaFree(out);
  return 0;
}

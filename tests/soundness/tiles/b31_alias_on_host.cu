// EXPECT: keep
// WHY: the host interleaves its lines by CHUNK, an alias of the kernel's tile under another name
// SIZES: 32,70,200,512
// NAIVE: TILE in deal: 16 differs at 70
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 32
#define CHUNK TILE
#define CHUNKS(n) (((n) + CHUNK - 1) / CHUNK)

// Within each chunk, the even places come first.
__global__ void deal(const int *in, int *out, int n) {
  __shared__ int hand[TILE];
  int t = threadIdx.x, i = blockIdx.x * TILE + t;
  hand[t] = i < n ? in[i] : 0;
  __syncthreads();
  int from = t < TILE / 2 ? 2 * t : 2 * (t - TILE / 2) + 1;
  out[i] = hand[from];
}

static void collect(std::vector<int> &dealt) {
  for (size_t first = 0; first < dealt.size(); first += CHUNK) {
    std::vector<int> chunk(dealt.begin() + first, dealt.begin() + first + CHUNK);
    for (int t = 0; t < CHUNK; ++t)
      dealt[first + t] = chunk[t % 2 == 0 ? t / 2 : CHUNK / 2 + t / 2];
  }
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 200;
  std::vector<int> cards(n), dealt(CHUNKS(n) * CHUNK);
  for (int i = 0; i < n; ++i)
    cards[i] = i * 7 + 1;
  int *in, *out;
  cudaMalloc(&in, n * sizeof(int));
  cudaMalloc(&out, dealt.size() * sizeof(int));
  cudaMemcpy(in, cards.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  deal<<<CHUNKS(n), TILE>>>(in, out, n);
  cudaMemcpy(dealt.data(), out, dealt.size() * sizeof(int), cudaMemcpyDeviceToHost);
  printf("second card dealt: %d\n", dealt[1]);
  collect(dealt);
  int moved = 0;
  for (int i = 0; i < n; ++i)
    moved += dealt[i] != cards[i];
  printf("%d of %d moved\n", moved, n);
  return 0;
}

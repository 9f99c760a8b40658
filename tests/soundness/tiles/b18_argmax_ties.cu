// EXPECT: keep
// WHY: of equal values the one that its tree of threads keeps wins: another tile names another place
// SIZES: 64,100,500,1000
// NAIVE: BLOCK in best_of: 128 differs at 500
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define BLOCK 64

struct Best {
  int value, at;
};

__global__ void best_of(const int *scores, int n, Best *best) {
  __shared__ Best s[BLOCK];
  int t = threadIdx.x;
  Best mine = {-1, -1};
  for (int i = t; i < n; i += BLOCK)
    if (scores[i] > mine.value)
      mine = {scores[i], i};
  s[t] = mine;
  __syncthreads();
  for (int half = BLOCK / 2; half > 0; half >>= 1) {
    if (t < half && s[t + half].value >= s[t].value)
      s[t] = s[t + half];
    __syncthreads();
  }
  if (t == 0)
    *best = s[0];
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 500;
  std::vector<int> scores(n);
  for (int i = 0; i < n; ++i)
    scores[i] = (i * 53 + 7) % 40;
  int *d_scores;
  Best *d_best, best;
  cudaMalloc(&d_scores, n * sizeof(int));
  cudaMalloc(&d_best, sizeof(Best));
  for (int round = 0; round < 4; ++round) {
    cudaMemcpy(d_scores, scores.data(), n * sizeof(int), cudaMemcpyHostToDevice);
    best_of<<<1, BLOCK>>>(d_scores, n, d_best);
    cudaMemcpy(&best, d_best, sizeof(Best), cudaMemcpyDeviceToHost);
    printf("round %d: %d at %d\n", round, best.value, best.at);
    scores[best.at] = 0;
  }
  cudaFree(d_scores);
  cudaFree(d_best);
  return 0;
}

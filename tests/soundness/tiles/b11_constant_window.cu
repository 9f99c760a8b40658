// EXPECT: keep
// WHY: the window in constant memory has as many weights as the block has threads, and the host fills 32
// SIZES: 32,100,320,500
// NAIVE: FRAME in weigh: 16 differs at 100
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define FRAME 32

__constant__ int c_window[64];

__global__ void weigh(const int *signal, int *frames, int n) {
  __shared__ int frame[FRAME];
  int i = blockIdx.x * FRAME + threadIdx.x;
  frame[threadIdx.x] = i < n ? signal[i] * c_window[threadIdx.x] : 0;
  __syncthreads();
  if (i < n)
    frames[i] = frame[threadIdx.x] + frame[FRAME - 1 - threadIdx.x];
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 320;
  int window[FRAME];
  for (int t = 0; t < FRAME; ++t)
    window[t] = t < FRAME / 2 ? t + 1 : FRAME - t;
  cudaMemcpyToSymbol(c_window, window, sizeof window);
  std::vector<int> signal(n);
  for (int i = 0; i < n; ++i)
    signal[i] = (i * 29) % 83 - 41;
  int *d_signal, *d_frames;
  cudaMalloc(&d_signal, n * sizeof(int));
  cudaMalloc(&d_frames, n * sizeof(int));
  cudaMemcpy(d_signal, signal.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  weigh<<<(n + FRAME - 1) / FRAME, FRAME>>>(d_signal, d_frames, n);
  cudaMemcpy(signal.data(), d_frames, n * sizeof(int), cudaMemcpyDeviceToHost);
  long energy = 0;
  for (int value : signal)
    energy += (long)value * value;
  printf("%d samples, energy %ld\n", n, energy);
  cudaFree(d_signal);
  cudaFree(d_frames);
  return 0;
}

// EXPECT: keep
// WHY: a captured launch whose block the host reads back from the graph's node and uses to find the last tile
// SIZES: 64,100,250,900
// NAIVE: TILE in triple: 64 differs at 100
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

constexpr int TILE = 32;

__global__ void triple(int *values, int n) {
  __shared__ int part[TILE];
  int i = blockIdx.x * TILE + threadIdx.x;
  part[threadIdx.x] = i < n ? values[i] : 0;
  __syncthreads();
  if (i < n)
    values[i] = 3 * part[threadIdx.x] + 1;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 250;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i)
    values[i] = i % 10;
  int *device;
  cudaMalloc(&device, n * sizeof(int));
  cudaMemcpy(device, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaGraph_t graph;
  cudaGraphExec_t instance;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  triple<<<(n + TILE - 1) / TILE, TILE, 0, stream>>>(device, n);
  cudaStreamEndCapture(stream, &graph);
  size_t count = 1;
  cudaGraphNode_t node;
  cudaGraphGetNodes(graph, &node, &count);
  cudaKernelNodeParams parameters = {};
  cudaGraphKernelNodeGetParams(node, &parameters);
  cudaGraphInstantiate(&instance, graph, nullptr, nullptr, 0);
  for (int round = 0; round < 3; ++round)
    cudaGraphLaunch(instance, stream);
  cudaStreamSynchronize(stream);
  cudaMemcpy(values.data(), device, n * sizeof(int), cudaMemcpyDeviceToHost);
  const int last = (parameters.gridDim.x - 1) * parameters.blockDim.x;
  long sum = 0;
  for (int i = last; i < n; ++i)
    sum += values[i];
  printf("%d, the last tile from %d adds %ld\n", values[0], last, sum);
  return 0;
}

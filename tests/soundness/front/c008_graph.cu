// EXPECT: tunable
#include "front.h"
__global__ void add(float *y, const float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += x[i]; }
__global__ void mul(float *y, float a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] *= a; }
int main(int argc, char **argv) {
    int n = size_of(argc, argv); float *x = filled<float>(n), *y = filled<float>(n, 3);
    cudaStream_t stream; cudaStreamCreate(&stream);
    cudaGraph_t graph; cudaGraphExec_t exec;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    for (int k = 0; k < 3; k++) {
        add<<<(n + 255) / 256, 256, 0, stream>>>(y, x, n);
        if (k % 2) mul<<<dim3((n + 127) / 128), dim3(128), 0, stream>>>(y, 0.5f, n); else mul<<<(n + 63) / 64, 64, 0, stream>>>(y, 2.0f, n);
    }
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0);
    for (int k = 0; k < 4; k++) cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
    add<<<(n + 255) / 256, 256, 0, stream>>>(y, x, n);
    cudaStreamSynchronize(stream);
    cudaGraphExecDestroy(exec); cudaGraphDestroy(graph);
    printed("y", y, n);
}

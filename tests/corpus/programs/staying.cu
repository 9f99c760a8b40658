// Launches that stay as they are, or whose error stays what it is.
#include <cstdio>

const int n = 256;

__global__ void count(int *x, int bound) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < bound) x[i] += 1;
}

__global__ void deep(int *x) { x[blockIdx.z * blockDim.z + threadIdx.z] += 1; }

__global__ void __launch_bounds__(128) few(int *x) {
    x[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

__global__ void tall(int *x, int bound) {
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (j < bound) x[j] += 1;
}

int *x;

void show(const char *what) {
    const cudaError_t error = cudaGetLastError();
    int host[n];
    cudaMemcpy(host, x, n * sizeof(int), cudaMemcpyDeviceToHost);
    unsigned long long sum = 0;
    for (int value : host) sum = sum * 31 + static_cast<unsigned>(value);
    printf("%s: %llx %s\n", what, sum, cudaGetErrorName(error));
}

// A node of a graph is given another bound after it was captured.
void graph(cudaStream_t stream, int bound, int later) {
    cudaGraph_t captured;
    cudaGraphExec_t executable;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    count<<<(n + 63) / 64, 64, 0, stream>>>(x, bound);
    cudaStreamEndCapture(stream, &captured);
    size_t nodes = 1;
    cudaGraphNode_t node;
    cudaGraphGetNodes(captured, &node, &nodes);
    cudaKernelNodeParams parameters;
    cudaGraphKernelNodeGetParams(node, &parameters);
    void *arguments[] = {&x, &later};
    if (parameters.func != reinterpret_cast<void *>(count)) printf("it is called otherwise\n");
    parameters.kernelParams = arguments;
    parameters.extra = nullptr;
    cudaGraphKernelNodeSetParams(node, &parameters);
    cudaGraphInstantiate(&executable, captured, 0);
    cudaGraphLaunch(executable, stream);
    cudaStreamSynchronize(stream);
}

int main() {
    cudaMalloc(&x, 4 * n * sizeof(int));
    cudaMemset(x, 0, 4 * n * sizeof(int));
    deep<<<dim3(1, 1, 2), dim3(1, 1, 128)>>>(x);
    show("128 in z");
    deep<<<dim3(1, 1, 4), dim3(1, 1, 64)>>>(x);
    show("64 in z");
    few<<<1, 256>>>(x);
    show("more than the bounds");
    few<<<2, 128>>>(x);
    show("within the bounds");
    tall<<<dim3(1, 70000), dim3(1, 1)>>>(x, n);
    show("too many blocks");
    count<<<n / 64, 2048>>>(x, n);
    show("too many threads");
    count<<<n / 64, 64, 60000>>>(x, n);
    show("too much shared memory");
    count<<<0, 64>>>(x, n);
    show("no blocks");
    count<<<n / 8, dim3(8, 4)>>>(x, n);
    show("a block of two dimensions");
    count<<<dim3(n / 64, 3), 64>>>(x, n);
    show("a grid of two dimensions");
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    for (int step = 0; step < 3; ++step) {
        count<<<(n + 63) / 64, 64, 0, stream>>>(x, n / 4);
        graph(stream, n / 4, n);
        graph(stream, n, 2 * n);
    }
    show("graphs");
}

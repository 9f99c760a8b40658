// Graphs: captured from streams, and made node by node; memory pools.
#include <cstdint>

#include "check.h"

__global__ void add(int n, int *x, int value) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += value;
}

constexpr int N = 100;
static int host[N], calls;

static void captured(int *x) {
    cudaStream_t one, two;
    cudaEvent_t fork, join;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    SUCCEED(cudaStreamCreate(&one));
    SUCCEED(cudaStreamCreate(&two));
    SUCCEED(cudaEventCreate(&fork));
    SUCCEED(cudaEventCreate(&join));
    SUCCEED(cudaStreamBeginCapture(one, cudaStreamCaptureModeGlobal));
    SUCCEED(cudaMemsetAsync(x, 0, N * sizeof *x, one));
    SUCCEED(cudaEventRecord(fork, one));
    SUCCEED(cudaStreamWaitEvent(two, fork));
    add<<<1, 128, 0, two>>>(N, x, 3);
    cudaStreamCaptureStatus status;
    SUCCEED(cudaStreamIsCapturing(two, &status));
    REQUIRE(status == cudaStreamCaptureStatusActive);
    SUCCEED(cudaEventRecord(join, two));
    SUCCEED(cudaStreamWaitEvent(one, join));
    add<<<1, 128, 0, one>>>(N, x, 4);
    SUCCEED(cudaLaunchHostFunc(one, [](void *) { calls++; }, nullptr));
    SUCCEED(cudaMemcpyAsync(host, x, sizeof host, cudaMemcpyDeviceToHost, one));
    SUCCEED(cudaStreamEndCapture(one, &graph));
    REQUIRE(host[0] == 0 && calls == 0);
    SUCCEED(cudaGraphInstantiate(&executable, graph, 0));
    SUCCEED(cudaGraphDestroy(graph));
    for (int i = 0; i < 3; ++i) SUCCEED(cudaGraphLaunch(executable, one));
    SUCCEED(cudaStreamSynchronize(one));
    REQUIRE(host[0] == 7 && host[N - 1] == 7 && calls == 3);
    SUCCEED(cudaGraphExecDestroy(executable));
}

static void made(int *x) {
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    cudaGraphNode_t clear, kernel, copy, nodes[3];
    SUCCEED(cudaGraphCreate(&graph, 0));
    cudaMemsetParams fill = {};
    fill.dst = x;
    fill.elementSize = sizeof *x;
    fill.value = 5;
    fill.width = N;
    fill.height = 1;
    int n = N, value = 10;
    void *arguments[] = {&n, &x, &value};
    cudaKernelNodeParams launch = {};
    launch.func = (void *)add;
    launch.gridDim = launch.blockDim = dim3(16);
    launch.kernelParams = arguments;
    // The copy is added first; its dependency puts it last.
    SUCCEED(cudaGraphAddMemcpyNode1D(&copy, graph, nullptr, 0, host, x, sizeof host,
                                     cudaMemcpyDeviceToHost));
    SUCCEED(cudaGraphAddMemsetNode(&clear, graph, nullptr, 0, &fill));
    SUCCEED(cudaGraphAddKernelNode(&kernel, graph, &clear, 1, &launch));
#if CUDART_VERSION >= 13000
    SUCCEED(cudaGraphAddDependencies(graph, &kernel, &copy, nullptr, 1));
#else
    SUCCEED(cudaGraphAddDependencies(graph, &kernel, &copy, 1));
#endif
    size_t count = 3;
    SUCCEED(cudaGraphGetNodes(graph, nodes, &count));
    REQUIRE(count == 3 && nodes[2] == kernel);
    SUCCEED(cudaGraphInstantiateWithFlags(&executable, graph, 0));
    SUCCEED(cudaGraphLaunch(executable, nullptr));
    REQUIRE(host[0] == 15 && host[N - 1] == 15);
    value = 20;
    SUCCEED(cudaGraphExecKernelNodeSetParams(executable, kernel, &launch));
    SUCCEED(cudaGraphLaunch(executable, nullptr));
    REQUIRE(host[0] == 25);
}

// Memory of a pool, allocated and freed in the order of a stream.
static void pooled() {
    cudaMemPool_t pool;
    cudaStream_t stream;
    int *x, device_has_pools, host_value[N];
    uint64_t threshold = 1 << 20, got = 0;
    SUCCEED(cudaDeviceGetAttribute(&device_has_pools, cudaDevAttrMemoryPoolsSupported, 0));
    REQUIRE(device_has_pools);
    SUCCEED(cudaDeviceGetDefaultMemPool(&pool, 0));
    SUCCEED(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    SUCCEED(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &got));
    REQUIRE(got == threshold);
    SUCCEED(cudaStreamCreate(&stream));
    SUCCEED(cudaMallocFromPoolAsync((void **)&x, sizeof host_value, pool, stream));
    SUCCEED(cudaMemsetAsync(x, 0, sizeof host_value, stream));
    add<<<1, 128, 0, stream>>>(N, x, 9);
    SUCCEED(cudaMemcpyAsync(host_value, x, sizeof host_value, cudaMemcpyDeviceToHost, stream));
    SUCCEED(cudaFreeAsync(x, stream));
    SUCCEED(cudaStreamSynchronize(stream));
    REQUIRE(host_value[N - 1] == 9);
}

int main() {
    int *x;
    SUCCEED(cudaMalloc(&x, N * sizeof *x));
    pooled();
    captured(x);
    made(x);
    return pass();
}

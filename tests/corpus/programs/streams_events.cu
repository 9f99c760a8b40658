// Streams, events, callbacks; times are modelled, so only their order is checked.
#include "check.h"

__global__ void twice(int n, int *x) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] *= 2;
}

static void CUDART_CB count_up(void *data) { ++*(int *)data; }

int main() {
    const int n = 4096;
    int *host, *device, calls = 0;
    SUCCEED(cudaMallocHost(&host, n * sizeof(int)));
    SUCCEED(cudaMallocAsync(&device, n * sizeof(int), 0));
    for (int i = 0; i < n; ++i) host[i] = i;
    cudaStream_t first, second;
    cudaEvent_t start, middle, end, untimed;
    SUCCEED(cudaStreamCreate(&first));
    SUCCEED(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    SUCCEED(cudaEventCreate(&start));
    SUCCEED(cudaEventCreate(&middle));
    SUCCEED(cudaEventCreate(&end));
    SUCCEED(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    float ms = -1, more = -1;
    EXPECT(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, start, end));
    SUCCEED(cudaMemcpyAsync(device, host, n * sizeof(int), cudaMemcpyHostToDevice, first));
    SUCCEED(cudaEventRecord(start, first));
    twice<<<1, 128, 0, first>>>(n, device);
    SUCCEED(cudaEventRecord(middle, first));
    SUCCEED(cudaStreamWaitEvent(second, middle, 0));
    for (int i = 0; i < 3; ++i) twice<<<1, 128, 0, second>>>(n, device);
    SUCCEED(cudaEventRecord(end, second));
    SUCCEED(cudaLaunchHostFunc(second, count_up, &calls));
    SUCCEED(cudaEventSynchronize(end));
    SUCCEED(cudaStreamSynchronize(second));
    SUCCEED(cudaStreamQuery(first));
    REQUIRE(calls == 1);
    SUCCEED(cudaEventElapsedTime(&ms, start, middle));
    SUCCEED(cudaEventElapsedTime(&more, start, end));
    REQUIRE(ms > 0 && more > 2 * ms);
    SUCCEED(cudaMemcpyAsync(host, device, n * sizeof(int), cudaMemcpyDeviceToHost, second));
    SUCCEED(cudaStreamSynchronize(second));
    for (int i = 0; i < n; ++i) REQUIRE(host[i] == 16 * i);
    SUCCEED(cudaEventRecord(untimed));
    EXPECT(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, start, untimed));
    SUCCEED(cudaGetLastError() == cudaErrorInvalidResourceHandle ? cudaSuccess : cudaErrorUnknown);
    SUCCEED(cudaEventDestroy(start));
    SUCCEED(cudaStreamDestroy(first));
    SUCCEED(cudaStreamDestroy(second));
    SUCCEED(cudaFreeHost(host));
    SUCCEED(cudaFreeAsync(device, 0));
    return pass();
}

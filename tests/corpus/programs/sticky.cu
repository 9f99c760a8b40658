// An access outside of all allocations is an error that stays until the process ends.
#include "check.h"

__global__ void beyond(int *x) { x[(1 << 28) + threadIdx.x] = 1; }
__global__ void fine(int *x) { x[threadIdx.x] = 1; }

int main() {
    int *x, *y, host[32];
    SUCCEED(cudaMalloc(&x, sizeof host));
    beyond<<<1, 32>>>(x);
    EXPECT(cudaSuccess, cudaGetLastError());  // launches do not wait
    EXPECT(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    EXPECT(cudaErrorIllegalAddress, cudaGetLastError());
    EXPECT(cudaSuccess, cudaGetLastError());
    fine<<<1, 32>>>(x);
    EXPECT(cudaErrorIllegalAddress, cudaGetLastError());
    EXPECT(cudaErrorIllegalAddress, cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(cudaErrorIllegalAddress, cudaMalloc(&y, 4));
    EXPECT(cudaErrorIllegalAddress, cudaFree(x));
    SUCCEED(cudaDeviceReset());
    EXPECT(cudaErrorDevicesUnavailable, cudaMalloc(&y, 4));
    return pass();
}

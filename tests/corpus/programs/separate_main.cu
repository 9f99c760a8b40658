// Separate compilation (nvcc -rdc=true): device code of two files, linked by symbol names.
#include "check.h"

extern __device__ int twice(int x);
extern __device__ int shift;
extern __constant__ int weights[4];
static __device__ int hidden = 1;  // the other file has one of its own
__device__ int counter;

__global__ void work(int *x) {
    const int i = threadIdx.x;
    x[i] = twice(i) + shift + weights[i % 4] + hidden;
    atomicAdd(&counter, 1);
}

void set_shift(int value);
int count();

int main() {
    int *x, host[32];
    SUCCEED(cudaMalloc(&x, sizeof host));
    set_shift(1000);
    work<<<1, 32>>>(x);
    SUCCEED(cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; ++i) REQUIRE(host[i] == 2 * i + 1000 + i % 4 + 1);
    REQUIRE(count() == 32);
    return pass();
}

// The other half of separate_main.cu.
#include <cuda_runtime.h>

__device__ int shift = 1;
__constant__ int weights[4] = {0, 1, 2, 3};
static __device__ int hidden = 2;
extern __device__ int counter;

__device__ int twice(int x) { return x * hidden; }

__global__ void read_counter(int *result) { *result = counter; }

void set_shift(int value) { cudaMemcpyToSymbol(shift, &value, sizeof value); }

int count() {
    int *result, host = 0;
    cudaMalloc(&result, sizeof *result);
    read_counter<<<1, 1>>>(result);
    cudaMemcpy(&host, result, sizeof host, cudaMemcpyDeviceToHost);
    return host;
}

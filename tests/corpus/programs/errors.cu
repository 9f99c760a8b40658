// Errors that leave the device usable: what is returned, and what cudaGetLastError says.
#include <cstring>

#include "check.h"

__global__ void nothing() {}
__global__ void __launch_bounds__(128) bounded() {}
__global__ void dynamic(int *x) {
    extern __shared__ int buffer[];
    buffer[threadIdx.x] = threadIdx.x;
    __syncthreads();
    x[threadIdx.x] = buffer[31 - threadIdx.x];
}

#define LAUNCH_GIVES(error, ...)                 \
    do {                                         \
        __VA_ARGS__;                             \
        EXPECT(error, cudaPeekAtLastError());    \
        EXPECT(error, cudaGetLastError());       \
        EXPECT(cudaSuccess, cudaGetLastError()); \
    } while (0)

#if CUDART_VERSION >= 13000
const cudaError_t bad_shape = cudaErrorInvalidValue;
#else
const cudaError_t bad_shape = cudaErrorInvalidConfiguration;
#endif

int main() {
    LAUNCH_GIVES(bad_shape, nothing<<<1, 1025>>>());
    LAUNCH_GIVES(bad_shape, nothing<<<1, 0>>>());
    LAUNCH_GIVES(bad_shape, nothing<<<0, 32>>>());
    LAUNCH_GIVES(bad_shape, nothing<<<1, dim3(1, 1, 65)>>>());
    LAUNCH_GIVES(bad_shape, nothing<<<dim3(1, 65536), 32>>>());
    LAUNCH_GIVES(bad_shape, nothing<<<dim3(1, 1, 65536), 32>>>());
    LAUNCH_GIVES(cudaErrorInvalidValue, bounded<<<1, 256>>>());
    LAUNCH_GIVES(cudaSuccess, bounded<<<1, 128>>>());
    int *x;
    SUCCEED(cudaMalloc(&x, 400));
    LAUNCH_GIVES(cudaErrorInvalidValue, dynamic<<<1, 32, 50000>>>(x));
    SUCCEED(cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000));
    LAUNCH_GIVES(cudaSuccess, dynamic<<<1, 32, 50000>>>(x));
    EXPECT(cudaErrorInvalidValue,
           cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20));
    char host[800] = {};
    EXPECT(cudaErrorInvalidValue, cudaMemcpy(x, host, 401, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidValue, cudaMemcpy(host, (char *)x + 396, 5, cudaMemcpyDeviceToHost));
    EXPECT(cudaErrorInvalidValue, cudaMemset(host, 0, 4));
    EXPECT(cudaErrorInvalidValue, cudaGetLastError());
    SUCCEED(cudaFree(nullptr));
    EXPECT(cudaErrorInvalidValue, cudaFree((char *)x + 4));
    SUCCEED(cudaFree(x));
    EXPECT(cudaErrorInvalidValue, cudaFree(x));
    EXPECT(cudaErrorInvalidValue, cudaMemcpy(host, x, 4, cudaMemcpyDeviceToHost));
    EXPECT(cudaErrorInvalidMemcpyDirection, cudaMemcpy(host, host, 4, (cudaMemcpyKind)7));
    EXPECT(cudaErrorInvalidDevice, cudaSetDevice(99));
    EXPECT(cudaErrorInvalidDevice, cudaGetLastError());
    EXPECT(cudaErrorMemoryAllocation, cudaMalloc(&x, (size_t)1 << 50));
    EXPECT(cudaErrorMemoryAllocation, cudaGetLastError());
    REQUIRE(!std::strcmp(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress"));
    REQUIRE(!std::strcmp(cudaGetErrorString(cudaErrorIllegalAddress),
                         "an illegal memory access was encountered"));
    return pass();
}

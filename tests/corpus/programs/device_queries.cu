// What the program is told about the device, kernels' attributes and occupancy.
#include <cstring>

#include "check.h"

__global__ void kernel(float *x) {
    __shared__ float tile[1024];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

int main(int argc, char **argv) {
    int count = 0, processors = 0, blocks = 0, best = 0, least = 0, version = 0;
    cudaDeviceProp p;
    SUCCEED(cudaGetDeviceCount(&count));
    REQUIRE(count == 1);
    SUCCEED(cudaGetDeviceProperties(&p, 0));
    SUCCEED(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    REQUIRE(p.multiProcessorCount == processors && p.warpSize == 32);
    std::printf("%s %d.%d %d\n", p.name, p.major, p.minor, processors);
    cudaFuncAttributes a;
    SUCCEED(cudaFuncGetAttributes(&a, kernel));
    REQUIRE(a.sharedSizeBytes == 4096 && a.maxThreadsPerBlock == 1024 && a.ptxVersion == 80);
    SUCCEED(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 256, 0));
    REQUIRE(blocks == p.maxThreadsPerMultiProcessor / 256);
    SUCCEED(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 1024, 100));
    REQUIRE(blocks == p.maxThreadsPerMultiProcessor / 1024);
    SUCCEED(cudaOccupancyMaxPotentialBlockSize(&least, &best, kernel));
    REQUIRE(best == 1024 && least >= processors);
    SUCCEED(cudaRuntimeGetVersion(&version));
    REQUIRE(version == CUDART_VERSION);
    size_t available, total;
    SUCCEED(cudaMemGetInfo(&available, &total));
    REQUIRE(available <= total && available > 0);
    return pass();
}

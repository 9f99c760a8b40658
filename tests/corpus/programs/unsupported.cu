// A call that the emulated device lacks fails with an error of its own, not with a crash.
#include "check.h"

int main() {
    cudaMipmappedArray_t levels;
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    const cudaExtent extent = make_cudaExtent(8, 8, 0);
    EXPECT(cudaErrorNotSupported, cudaMallocMipmappedArray(&levels, &format, extent, 2));
    EXPECT(cudaErrorNotSupported, cudaGetLastError());
    return pass();
}

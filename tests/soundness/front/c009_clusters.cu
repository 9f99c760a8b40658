// EXPECT: tunable
#include "front.h"
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define CLUSTERED __cluster_dims__(2, 1, 1)
#else
#define CLUSTERED
#endif
__global__ void CLUSTERED pairs(float *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += 1; }
__global__ void plain(float *y, float a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += a; }
template <class... A> void launched(int n, void (*kernel)(A...), A... a) {
    cudaLaunchConfig_t config = {}; config.gridDim = (n + 255) / 256; config.blockDim = 256;
    cudaLaunchAttribute attribute[1]; attribute[0].id = cudaLaunchAttributeProgrammaticStreamSerialization; attribute[0].val.programmaticStreamSerializationAllowed = 1;
    config.attrs = attribute; config.numAttrs = 0;
    cudaLaunchKernelEx(&config, kernel, a...);
}
int main(int argc, char **argv) {
    int n = size_of(argc, argv); float *y = filled<float>(n);
    const int blocks = ((n + 255) / 256 + 1) / 2 * 2;
    pairs<<<blocks, 256>>>(y, n);
    plain<<<(n + 255) / 256, 256>>>(y, 2.0f, n);
    launched(n, plain, y, 4.0f, n);
    launched(n, &plain, y, 5.0f, n);
    plain<<<(n + 255) / 256, 256>>>(y, 3.0f, n);
    printed("y", y, n);
}

// Calls that CUDA 12 and 13 removed and older programs still use. Given to nvcc with -include by
// the NVCC_APPEND_FLAGS of the emulated device.
#ifndef CUTUNE_COMPAT_H
#define CUTUNE_COMPAT_H
#if defined(__cplusplus) && defined(__CUDACC__)
#include <cuda_runtime.h>
#if CUDART_VERSION >= 12000
// Where the command line has a macro of the name, that does.
#ifndef cudaThreadSynchronize
static inline cudaError_t cudaThreadSynchronize(void) { return cudaDeviceSynchronize(); }
#endif
#ifndef cudaThreadExit
static inline cudaError_t cudaThreadExit(void) { return cudaDeviceReset(); }
#endif
#endif
#endif
#endif

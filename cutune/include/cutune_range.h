// Allocations of device memory. Needs cutune_launch.h before it.
#ifndef CUTUNE_RANGE_H
#define CUTUNE_RANGE_H

#include <cuda_runtime.h>
#include <stddef.h>

typedef int (*cutune_range_function)(unsigned long long *base, size_t *size,
                                     unsigned long long address);

// A function of the driver, without linking it; nullptr where it has none of this name.
inline void *cutune_driver_function(const char *name) {
    void *function = nullptr;
#if CUDART_VERSION >= 12050
    const cudaError_t error =
        cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault);
#else
    const cudaError_t error = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault);
#endif
    return cutune_refused(error) ? nullptr : function;
}

// The allocation that holds `address`. False when that is no device memory.
inline bool cutune_range(unsigned long long address, unsigned long long *base, size_t *size) {
    static const cutune_range_function function =
        reinterpret_cast<cutune_range_function>(cutune_driver_function("cuMemGetAddressRange"));
    return address != 0 && function != nullptr && function(base, size, address) == 0;
}

#endif  // CUTUNE_RANGE_H

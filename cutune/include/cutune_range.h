// Allocations of device memory. Needs cutune_launch.h before it.
#ifndef CUTUNE_RANGE_H
#define CUTUNE_RANGE_H

#include <cuda_runtime.h>
#include <stddef.h>

typedef int (*cutune_range_function)(unsigned long long *base, size_t *size,
                                     unsigned long long address);

// cuMemGetAddressRange, without linking the driver.
inline cutune_range_function cutune_find_range_function() {
    void *function = nullptr;
#if CUDART_VERSION >= 12050
    const cudaError_t error = cudaGetDriverEntryPointByVersion("cuMemGetAddressRange", &function,
                                                               12000, cudaEnableDefault);
#else
    const cudaError_t error =
        cudaGetDriverEntryPoint("cuMemGetAddressRange", &function, cudaEnableDefault);
#endif
    return cutune_refused(error) ? nullptr : reinterpret_cast<cutune_range_function>(function);
}

// The allocation that holds `address`. False when that is no device memory.
inline bool cutune_range(unsigned long long address, unsigned long long *base, size_t *size) {
    static const cutune_range_function function = cutune_find_range_function();
    return address != 0 && function != nullptr && function(base, size, address) == 0;
}

// Do two pointers certainly lead to different memory? Not where one of them is no device memory.
inline bool cutune_are_apart(long long one, long long other) {
    unsigned long long base[2] = {0, 0};
    size_t size = 0;
    return cutune_range(static_cast<unsigned long long>(one), &base[0], &size) &&
           cutune_range(static_cast<unsigned long long>(other), &base[1], &size) &&
           base[0] != base[1];
}

#endif  // CUTUNE_RANGE_H

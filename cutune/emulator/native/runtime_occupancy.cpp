// Occupancy and attributes of kernels. Registers are decided by ptxas, not by PTX: the device
// description says how many to assume.
#include <algorithm>
#include <climits>
#include <cstring>

#include "runtime.h"
#include "runtime_modules.h"

namespace cutune {

namespace {

int round_up(int value, int unit) { return (value + unit - 1) / unit * unit; }

// Blocks that fit on one multiprocessor. Registers are allocated per warp in units of 256 from
// four equal files, shared memory per block in units of the device.
int resident_blocks(const KernelCode& code, int threads, size_t dynamic_shared) {
    const Device& d = device();
    const int warps = (threads + 31) / 32;
    if (threads <= 0 || threads > 1024) return 0;
    const int per_warp = round_up(32 * d.registers_per_thread, 256);
    const int by_registers = 4 * (d.registers_per_multiprocessor / 4 / per_warp) / warps;
    const int by_warps = d.threads_per_multiprocessor / 32 / warps;
    const size_t shared = code.static_shared_bytes + dynamic_shared;
    if (shared > static_cast<size_t>(d.shared_per_block_optin)) return 0;
    const int used = round_up(static_cast<int>(shared) + d.shared_reserved, d.shared_granularity);
    const int by_shared = used > 0 ? d.shared_per_multiprocessor / used : INT_MAX;
    return std::min({by_registers, by_warps, by_shared, d.blocks_per_multiprocessor});
}

void fill(const Function& function, cudaFuncAttributes* attributes) {
    const KernelCode& code = *function.here().code;
    std::memset(attributes, 0, sizeof *attributes);
    attributes->sharedSizeBytes = code.static_shared_bytes;
    attributes->localSizeBytes = code.local_bytes;
    attributes->maxThreadsPerBlock = static_cast<int>(code.max_threads);
    attributes->numRegs = device().registers_per_thread;
    // Libraries choose their kernels' parameters by these: they must match the code that runs.
    attributes->ptxVersion = static_cast<int>(function.module->architecture);
    attributes->binaryVersion = static_cast<int>(function.module->architecture);
    attributes->maxDynamicSharedSizeBytes =
        function.here().max_dynamic_shared > 0
            ? function.here().max_dynamic_shared
            : device().shared_per_block - static_cast<int>(code.static_shared_bytes);
    attributes->preferredShmemCarveout = function.here().carveout;
}

template <class Body>
cudaError_t with_function(const void* stub, Body body) {
    return call([&] {
        Function* function = nullptr;
        const cudaError_t error = find_function(stub, &function);
        return error == cudaSuccess ? body(function) : error;
    });
}

cudaError_t set_attribute(Function* function, cudaFuncAttribute name, int value) {
    if (name == cudaFuncAttributePreferredSharedMemoryCarveout) {
        if (value < -1 || value > 100) return cudaErrorInvalidValue;
        function->here().carveout = value;
        return cudaSuccess;
    }
    if (name != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaErrorInvalidValue;
    const int limit =
        device().shared_per_block_optin - static_cast<int>(function->here().code->static_shared_bytes);
    if (value < 0 || value > limit) return cudaErrorInvalidValue;
    function->here().max_dynamic_shared = value;
    return cudaSuccess;
}

}  // namespace

}  // namespace cutune

using namespace cutune;

extern "C" {

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* stub) {
    if (!attributes) return remember(cudaErrorInvalidValue);
    return with_function(stub, [&](Function* function) {
        fill(*function, attributes);
        return cudaSuccess;
    });
}

cudaError_t cudaFuncSetAttribute(const void* stub, cudaFuncAttribute name, int value) {
    return with_function(stub, [&](Function* f) { return set_attribute(f, name, value); });
}

cudaError_t cudaFuncSetCacheConfig(const void* stub, cudaFuncCache) {
    return with_function(stub, [](Function*) { return cudaSuccess; });
}

cudaError_t cudaFuncSetSharedMemConfig(const void* stub, cudaSharedMemConfig) {
    return with_function(stub, [](Function*) { return cudaSuccess; });
}

#if CUDART_VERSION >= 12030
cudaError_t cudaFuncGetName(const char** name, const void* stub) {
    if (!name) return remember(cudaErrorInvalidValue);
    return with_function(stub, [&](Function* function) {
        *name = function->name.c_str();
        return cudaSuccess;
    });
}
#endif

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* stub,
                                                                   int threads, size_t shared,
                                                                   unsigned) {
    if (!blocks) return remember(cudaErrorInvalidValue);
    return with_function(stub, [&](Function* function) {
        if (threads <= 0) return cudaErrorInvalidValue;
        *blocks = resident_blocks(*function->here().code, threads, shared);
        return cudaSuccess;
    });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* stub,
                                                          int threads, size_t shared) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, stub, threads, shared, 0);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* stub, int blocks,
                                                      int threads) {
    if (!bytes) return remember(cudaErrorInvalidValue);
    return with_function(stub, [&](Function* function) {
        const Device& d = device();
        if (blocks <= 0 || threads <= 0) return cudaErrorInvalidValue;
        const int share =
            d.shared_per_multiprocessor / blocks / d.shared_granularity * d.shared_granularity;
        const int room = std::min(share - d.shared_reserved, d.shared_per_block);
        *bytes = static_cast<size_t>(
            std::max(0, room - static_cast<int>(function->here().code->static_shared_bytes)));
        return cudaSuccess;
    });
}

}  // extern "C"

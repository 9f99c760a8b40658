// Launches, attributes of kernels and occupancy by the driver's interface.
#include <algorithm>
#include <vector>

#include "driver.h"
#include "runtime_modules.h"

namespace cutune {

namespace {

// The arguments of a launch as pointers to each. `extra` describes a buffer in which they lie as the
// kernel expects them.
cudaError_t find_arguments(CUfunction handle, void** parameters, void** extra,
                           std::vector<void*>* found) {
    Function* function = nullptr;
    const cudaError_t error = find_function(handle, &function);
    if (error != cudaSuccess) return error;
    const KernelCode& code = *function->here().code;
    const size_t count = code.parameter_offsets.size();
    if (parameters && extra) return cudaErrorInvalidValue;
    if (parameters) {
        found->assign(parameters, parameters + count);
        return cudaSuccess;
    }
    char* buffer = nullptr;
    size_t bytes = 0;
    for (void** each = extra; each && *each != CU_LAUNCH_PARAM_END; each += 2) {
        if (*each == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = static_cast<char*>(each[1]);
        else if (*each == CU_LAUNCH_PARAM_BUFFER_SIZE)
            bytes = *static_cast<size_t*>(each[1]);
        else
            return cudaErrorInvalidValue;
    }
    for (size_t i = 0; i < count; ++i) {
        const size_t offset = code.parameter_offsets[i];
        if (!buffer || offset + code.parameter_sizes[i] > bytes) {
            say_once("launch of '" + function->name + "': its arguments are " +
                     std::to_string(bytes) + " bytes, its parameters " +
                     std::to_string(code.parameter_bytes));
            return cudaErrorInvalidValue;
        }
        found->push_back(buffer + offset);
    }
    return cudaSuccess;
}

struct Shape {
    dim3 grid, block;
    unsigned shared;
    CUstream stream;
    bool is_cooperative;
};

CUresult launch(CUfunction function, const Shape& shape, void** parameters, void** extra) {
    return in_context([&] {
        std::vector<void*> arguments;
        const cudaError_t error =
            call([&] { return find_arguments(function, parameters, extra, &arguments); });
        if (error != cudaSuccess) return error;
        const auto launched =
            shape.is_cooperative ? cudaLaunchCooperativeKernel : cudaLaunchKernel;
        return launched(reinterpret_cast<const void*>(function), shape.grid, shape.block,
                        arguments.data(), shape.shared, shape.stream);
    });
}

int attribute(const cudaFuncAttributes& all, CUfunction_attribute name) {
    switch (name) {
        case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: return all.maxThreadsPerBlock;
        case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: return static_cast<int>(all.sharedSizeBytes);
        case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: return static_cast<int>(all.constSizeBytes);
        case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: return static_cast<int>(all.localSizeBytes);
        case CU_FUNC_ATTRIBUTE_NUM_REGS: return all.numRegs;
        case CU_FUNC_ATTRIBUTE_PTX_VERSION: return all.ptxVersion;
        case CU_FUNC_ATTRIBUTE_BINARY_VERSION: return all.binaryVersion;
        case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: return all.cacheModeCA;
        case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: return all.maxDynamicSharedSizeBytes;
        case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: return all.preferredShmemCarveout;
        default: return 0;  // clusters: none
    }
}

// The smallest block, a multiple of the warp, with which most threads are resident.
template <class Shared>
cudaError_t best_block(int* grid, int* block, CUfunction function, Shared shared_for, int most) {
    cudaFuncAttributes about;
    cudaError_t error = cudaFuncGetAttributes(&about, reinterpret_cast<const void*>(function));
    if (error != cudaSuccess) return error;
    const int limit = most > 0 ? std::min(most, about.maxThreadsPerBlock) : about.maxThreadsPerBlock;
    int threads = 0;
    for (int size = (limit + 31) / 32 * 32; size > 0; size -= 32) {
        int resident = 0;
        const int tried = std::min(size, limit);
        error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &resident, reinterpret_cast<const void*>(function), tried, shared_for(tried));
        if (error != cudaSuccess) return error;
        if (resident * tried <= threads) continue;
        threads = resident * tried;
        *block = tried;
        *grid = resident * device().multiprocessors;
    }
    return threads > 0 ? cudaSuccess : cudaErrorInvalidValue;
}

CUresult suggested(int* grid, int* block, CUfunction function, CUoccupancyB2DSize shared_for,
                   size_t shared, int most) {
    return in_context([&] {
        if (!grid || !block) return cudaErrorInvalidValue;
        const auto bytes = [&](int threads) { return shared_for ? shared_for(threads) : shared; };
        return best_block(grid, block, function, bytes, most);
    });
}

}  // namespace

}  // namespace cutune

using namespace cutune;

extern "C" {

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                        CUstream stream, void** parameters, void** extra) {
    const Shape shape{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, stream, false};
    return launch(function, shape, parameters, extra);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                   unsigned grid_z, unsigned block_x, unsigned block_y,
                                   unsigned block_z, unsigned shared, CUstream stream,
                                   void** parameters) {
    const Shape shape{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, stream, true};
    return launch(function, shape, parameters, nullptr);
}

#if CUDA_VERSION >= 11080
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                          void** extra) {
    if (!config) return CUDA_ERROR_INVALID_VALUE;
    const CUlaunchConfig& c = *config;
    Shape shape{{c.gridDimX, c.gridDimY, c.gridDimZ},
                {c.blockDimX, c.blockDimY, c.blockDimZ},
                c.sharedMemBytes,
                c.hStream,
                false};
    for (unsigned i = 0; i < c.numAttrs; ++i) {
        const CUlaunchAttribute& each = c.attrs[i];
        const auto& cluster = each.value.clusterDim;
        if (each.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION &&
            cluster.x * cluster.y * cluster.z > 1)
            return not_emulated("cuLaunchKernelEx with thread block clusters");
        if (each.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && each.value.cooperative)
            shape.is_cooperative = true;
    }
    return launch(function, shape, parameters, extra);
}
#endif

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute name, CUfunction function) {
    return in_context([&] {
        if (!value || name >= CU_FUNC_ATTRIBUTE_MAX) return cudaErrorInvalidValue;
        cudaFuncAttributes all;
        const cudaError_t error =
            cudaFuncGetAttributes(&all, reinterpret_cast<const void*>(function));
        if (error == cudaSuccess) *value = attribute(all, name);
        return error;
    });
}

// Both interfaces number the two attributes that can be set alike.
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute name, int value) {
    return in_context([&] {
        return cudaFuncSetAttribute(reinterpret_cast<const void*>(function),
                                    static_cast<cudaFuncAttribute>(name), value);
    });
}

CUresult cuFuncSetCacheConfig(CUfunction, CUfunc_cache) { return ready(); }

CUresult cuFuncSetSharedMemConfig(CUfunction, CUsharedconfig) { return ready(); }

#if CUDA_VERSION >= 12030
CUresult cuFuncGetName(const char** name, CUfunction function) {
    return in_context(
        [&] { return cudaFuncGetName(name, reinterpret_cast<const void*>(function)); });
}
#endif

#if CUDA_VERSION >= 12000
CUresult cuKernelGetAttribute(int* value, CUfunction_attribute name, CUkernel kernel, CUdevice) {
    return cuFuncGetAttribute(value, name, reinterpret_cast<CUfunction>(kernel));
}

CUresult cuKernelSetAttribute(CUfunction_attribute name, int value, CUkernel kernel, CUdevice) {
    return cuFuncSetAttribute(reinterpret_cast<CUfunction>(kernel), name, value);
}

CUresult cuKernelSetCacheConfig(CUkernel, CUfunc_cache, CUdevice) { return ready(); }
#endif

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction function,
                                                              int threads, size_t shared,
                                                              unsigned flags) {
    return in_context([&] {
        return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
            blocks, reinterpret_cast<const void*>(function), threads, shared, flags);
    });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads,
                                                     size_t shared) {
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared,
                                                                0);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction function, int blocks,
                                                 int threads) {
    return in_context([&] {
        return cudaOccupancyAvailableDynamicSMemPerBlock(
            bytes, reinterpret_cast<const void*>(function), blocks, threads);
    });
}

CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction function,
                                          CUoccupancyB2DSize shared_for, size_t shared, int most) {
    return suggested(grid, block, function, shared_for, shared, most);
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, CUfunction function,
                                                   CUoccupancyB2DSize shared_for, size_t shared,
                                                   int most, unsigned) {
    return suggested(grid, block, function, shared_for, shared, most);
}

}  // extern "C"

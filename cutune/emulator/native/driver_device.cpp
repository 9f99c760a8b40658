// Devices as the driver's interface sees them.
#include <algorithm>
#include <cstring>

#include "driver.h"

using namespace cutune;

namespace {

// A question about a device, with the checks that all of them need.
template <class Body>
CUresult about(CUdevice device, const void* result, Body body) {
    const CUresult problem = ready_for(device);
    if (problem != CUDA_SUCCESS) return problem;
    if (!result) return CUDA_ERROR_INVALID_VALUE;
    return forward(body);
}

cudaError_t properties(CUdevice device, cudaDeviceProp* found) {
    return cudaGetDeviceProperties(found, device);
}

CUresult identifier(CUuuid* result, CUdevice device) {
    return about(device, result, [&] {
        cudaDeviceProp found;
        const cudaError_t error = properties(device, &found);
        if (error == cudaSuccess) std::memcpy(result, &found.uuid, sizeof *result);
        return error;
    });
}

}  // namespace

extern "C" {

CUresult cuDriverGetVersion(int* version) {
    if (!version) return CUDA_ERROR_INVALID_VALUE;
    *version = CUDA_VERSION;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
    return about(0, count, [&] { return cudaGetDeviceCount(count); });
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    return about(ordinal, device, [&] {
        *device = ordinal;
        return cudaSuccess;
    });
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
    if (length <= 0) return CUDA_ERROR_INVALID_VALUE;
    return about(device, name, [&] {
        const std::string& whole = cutune::device().name;
        name[whole.copy(name, static_cast<size_t>(length) - 1)] = '\0';
        return cudaSuccess;
    });
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
    return about(device, bytes, [&] {
        cudaDeviceProp found;
        const cudaError_t error = properties(device, &found);
        if (error == cudaSuccess) *bytes = found.totalGlobalMem;
        return error;
    });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute name, CUdevice device) {
    return about(device, value, [&] {
        return cudaDeviceGetAttribute(value, static_cast<cudaDeviceAttr>(name), device);
    });
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
    return about(device, major && minor ? major : nullptr, [&] {
        *major = cutune::device().major;
        *minor = cutune::device().minor;
        return cudaSuccess;
    });
}

CUresult cuDeviceGetProperties(CUdevprop* result, CUdevice device) {
    return about(device, result, [&] {
        cudaDeviceProp found;
        const cudaError_t error = properties(device, &found);
        if (error != cudaSuccess) return error;
        result->maxThreadsPerBlock = found.maxThreadsPerBlock;
        std::copy_n(found.maxThreadsDim, 3, result->maxThreadsDim);
        std::copy_n(found.maxGridSize, 3, result->maxGridSize);
        result->sharedMemPerBlock = static_cast<int>(found.sharedMemPerBlock);
        result->totalConstantMemory = static_cast<int>(found.totalConstMem);
        result->SIMDWidth = found.warpSize;
        result->memPitch = static_cast<int>(found.memPitch);
        result->regsPerBlock = found.regsPerBlock;
        result->clockRate = cutune::device().clock_khz;
        result->textureAlign = static_cast<int>(found.textureAlignment);
        return cudaSuccess;
    });
}

CUresult cuDeviceGetUuid_v2(CUuuid* result, CUdevice device) { return identifier(result, device); }

CUresult cuDeviceGetUuid(CUuuid* result, CUdevice device) { return identifier(result, device); }

CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice device) {
    return about(device, text, [&] { return cudaDeviceGetPCIBusId(text, length, device); });
}

CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* text) {
    return about(0, device, [&] { return cudaDeviceGetByPCIBusId(device, text); });
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
    return about(device, can, [&] { return cudaDeviceCanAccessPeer(can, device, peer); });
}

CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute name, CUdevice device,
                                 CUdevice peer) {
    return about(device, value, [&] {
        return cudaDeviceGetP2PAttribute(value, static_cast<cudaDeviceP2PAttr>(name), device, peer);
    });
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
    return about(device, pool, [&] { return cudaDeviceGetDefaultMemPool(pool, device); });
}

CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
    return about(device, pool, [&] { return cudaDeviceGetMemPool(pool, device); });
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
    return about(device, pool, [&] { return cudaDeviceSetMemPool(device, pool); });
}

// A header that few toolkits have declares these three.
CUresult cuProfilerInitialize(const char*, const char*, int) {
    return not_emulated("cuProfilerInitialize");
}

CUresult cuProfilerStart(void) { return ready(); }

CUresult cuProfilerStop(void) { return ready(); }

}  // extern "C"

// Memory as the driver's interface allocates and describes it.
#include "driver.h"
#include "runtime_memory.h"

using namespace cutune;

namespace {

// A call that gives an address, made by one that gives a pointer.
template <class Body>
CUresult allocated(CUdeviceptr* result, Body body) {
    return in_context([&] {
        if (!result) return cudaErrorInvalidValue;
        void* memory = nullptr;
        const cudaError_t error = body(&memory);
        if (error == cudaSuccess) *result = address(memory);
        return error;
    });
}

cudaError_t known(CUdeviceptr address) {
    return live_block(pointer(address)) ? cudaSuccess : cudaErrorInvalidValue;
}

// Where managed memory lives and what is expected of it changes speed alone.
CUresult advised(CUdeviceptr address) {
    return in_context([&] { return call([&] { return known(address); }); });
}

}  // namespace

extern "C" {

CUresult cuMemGetInfo_v2(size_t* available, size_t* total) {
    return in_context([&] { return cudaMemGetInfo(available, total); });
}

CUresult cuMemAlloc_v2(CUdeviceptr* result, size_t bytes) {
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    return allocated(result, [&](void** memory) { return cudaMalloc(memory, bytes); });
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* result, size_t* pitch, size_t width, size_t height,
                            unsigned element_bytes) {
    if (width == 0 || height == 0) return CUDA_ERROR_INVALID_VALUE;
    if (element_bytes != 4 && element_bytes != 8 && element_bytes != 16)
        return CUDA_ERROR_INVALID_VALUE;
    return allocated(result,
                     [&](void** memory) { return cudaMallocPitch(memory, pitch, width, height); });
}

CUresult cuMemAllocManaged(CUdeviceptr* result, size_t bytes, unsigned flags) {
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    return allocated(result,
                     [&](void** memory) { return cudaMallocManaged(memory, bytes, flags); });
}

CUresult cuMemAllocAsync(CUdeviceptr* result, size_t bytes, CUstream stream) {
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    return allocated(result, [&](void** memory) { return cudaMallocAsync(memory, bytes, stream); });
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* result, size_t bytes, CUmemoryPool pool,
                                 CUstream stream) {
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    return allocated(result, [&](void** memory) {
        return cudaMallocFromPoolAsync(memory, bytes, pool, stream);
    });
}

CUresult cuMemFree_v2(CUdeviceptr address) {
    return in_context([&] { return cudaFree(pointer(address)); });
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
    return in_context([&] { return cudaFreeAsync(pointer(address), stream); });
}

CUresult cuMemAllocHost_v2(void** result, size_t bytes) {
    return in_context([&] { return cudaMallocHost(result, bytes); });
}

CUresult cuMemHostAlloc(void** result, size_t bytes, unsigned flags) {
    return in_context([&] { return cudaHostAlloc(result, bytes, flags); });
}

CUresult cuMemFreeHost(void* memory) {
    return in_context([&] { return cudaFreeHost(memory); });
}

CUresult cuMemHostRegister_v2(void* memory, size_t bytes, unsigned flags) {
    return in_context([&] { return cudaHostRegister(memory, bytes, flags); });
}

CUresult cuMemHostUnregister(void* memory) {
    return in_context([&] { return cudaHostUnregister(memory); });
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* result, void* memory, unsigned flags) {
    return allocated(
        result, [&](void** same) { return cudaHostGetDevicePointer(same, memory, flags); });
}

CUresult cuMemHostGetFlags(unsigned* flags, void* memory) {
    return in_context([&] { return cudaHostGetFlags(flags, memory); });
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
    return in_context([&] {
        uint64_t begin = 0;
        const int error = range_of_address(&begin, bytes, address);
        if (error == 0 && base) *base = begin;
        return error == 0 ? cudaSuccess : cudaErrorSymbolNotFound;
    });
}

CUresult cuPointerGetAttribute(void* value, CUpointer_attribute which, CUdeviceptr address) {
    return in_context([&] {
        if (!value) return cudaErrorInvalidValue;
        return static_cast<cudaError_t>(attribute_of_address(value, which, address));
    });
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* which, void** values,
                                CUdeviceptr address) {
    return in_context([&] {
        if (!which || !values) return cudaErrorInvalidValue;
        const std::vector<int> numbers(which, which + count);
        return static_cast<cudaError_t>(
            attributes_of_address(count, numbers.data(), values, address));
    });
}

CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t, CUdevice, CUstream) {
    return advised(address);
}

CUresult cuMemAdvise(CUdeviceptr address, size_t, CUmem_advise, CUdevice) {
    return advised(address);
}

#if CUDA_VERSION >= 12020
CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t, CUmemLocation, unsigned, CUstream) {
    return advised(address);
}

CUresult cuMemAdvise_v2(CUdeviceptr address, size_t, CUmem_advise, CUmemLocation) {
    return advised(address);
}
#endif

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t bytes) {
    return in_context([&] { return cudaMemPoolTrimTo(pool, bytes); });
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
    return in_context([&] { return cudaMemPoolDestroy(pool); });
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute name, void* value) {
    return in_context(
        [&] { return cudaMemPoolSetAttribute(pool, static_cast<cudaMemPoolAttr>(name), value); });
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute name, void* value) {
    return in_context(
        [&] { return cudaMemPoolGetAttribute(pool, static_cast<cudaMemPoolAttr>(name), value); });
}

}  // extern "C"

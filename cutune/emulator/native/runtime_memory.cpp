// Allocation calls. Device, managed and pinned memory all come from the arena.
#include <cstring>

#include "runtime.h"
#include "runtime_arrays.h"
#include "runtime_graphs.h"
#include "runtime_memory.h"
#include "runtime_modules.h"
#include "runtime_peers.h"
#include "runtime_pools.h"
#include "runtime_streams.h"

namespace cutune {

cudaError_t allocate(void** pointer, size_t bytes, MemoryKind kind, unsigned flags, int device) {
    return call([&] {
        if (!pointer) return cudaErrorInvalidValue;
        *pointer = nullptr;
        if (bytes == 0) return cudaSuccess;
        const uint64_t base = runtime().arena.allocate(bytes, kind, flags, device);
        if (base == 0) {
            const Arena& arena = runtime().arena;
            say_once("out of device memory: " + std::to_string(bytes) + " bytes asked for, " +
                     std::to_string(arena.used()) + " of " + std::to_string(arena.capacity()) +
                     " in use (never more than the host has)");
            return cudaErrorMemoryAllocation;
        }
        *pointer = reinterpret_cast<void*>(base);
        return cudaSuccess;
    });
}

namespace {

cudaError_t release(void* pointer, const char* function) {
    return call([&] {
        const uint64_t base = reinterpret_cast<uint64_t>(pointer);
        if (base == 0 || runtime().arena.free(base)) return cudaSuccess;
        const Block* const block = runtime().arena.block(base);
        const char* const why = !block                ? "is not an allocation"
                                : !block->live        ? "was freed before"
                                : block->base != base ? "is not the beginning of its allocation"
                                                      : "is not memory that can be freed";
        say("%s: %p %s", function, pointer, why);
        return cudaErrorInvalidValue;
    });
}

constexpr size_t kPitch = 512;

}  // namespace

const Block* live_block(const void* pointer) {
    const Block* const block = runtime().arena.block(reinterpret_cast<uint64_t>(pointer));
    return block && block->live ? block : nullptr;
}

}  // namespace cutune

using namespace cutune;

extern "C" {

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
    return allocate(pointer, bytes, MemoryKind::device, 0, current_device());
}

cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned flags) {
    return allocate(pointer, bytes, MemoryKind::managed, flags, current_device());
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned flags) {
    return allocate(pointer, bytes, MemoryKind::pinned, flags, current_device());
}

cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
    return cudaHostAlloc(pointer, bytes, 0);
}

cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
    if (!known_stream(stream)) return remember(cudaErrorInvalidResourceHandle);
    const int device = device_of(stream);
    return allocate(pointer, bytes, MemoryKind::device, pool_of(device), device);
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
    if (!pitch) return remember(cudaErrorInvalidValue);
    *pitch = (width + kPitch - 1) / kPitch * kPitch;
    return cudaMalloc(pointer, *pitch * height);
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* result, cudaExtent extent) {
    if (!result) return remember(cudaErrorInvalidValue);
    *result = {nullptr, 0, extent.width, extent.height};
    return cudaMallocPitch(&result->ptr, &result->pitch, extent.width,
                           extent.height * extent.depth);
}

cudaError_t cudaFree(void* pointer) { return release(pointer, "cudaFree"); }

cudaError_t cudaFreeHost(void* pointer) { return release(pointer, "cudaFreeHost"); }

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
    if (!known_stream(stream)) return remember(cudaErrorInvalidResourceHandle);
    // A graph that is being captured will use the memory in every launch.
    if (captured_graph(stream)) return cudaSuccess;
    return release(pointer, "cudaFreeAsync");
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned flags) {
    return call([&] {
        if (!pointer || bytes == 0) return cudaErrorInvalidValue;
        const bool added = runtime().arena.adopt(reinterpret_cast<uint64_t>(pointer), bytes,
                                                 MemoryKind::registered, flags,
                                                 current_device());
        return added ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered;
    });
}

cudaError_t cudaHostUnregister(void* pointer) {
    return call([&] {
        const bool known = runtime().arena.forget(reinterpret_cast<uint64_t>(pointer));
        return known ? cudaSuccess : cudaErrorHostMemoryNotRegistered;
    });
}

cudaError_t cudaHostGetDevicePointer(void** device_pointer, void* pointer, unsigned) {
    return call([&] {
        if (!device_pointer || !live_block(pointer)) return cudaErrorInvalidValue;
        *device_pointer = pointer;
        return cudaSuccess;
    });
}

cudaError_t cudaHostGetFlags(unsigned* flags, void* pointer) {
    return call([&] {
        const Block* const block = live_block(pointer);
        if (!flags || !block || block->kind == MemoryKind::device) return cudaErrorInvalidValue;
        *flags = block->flags;
        return cudaSuccess;
    });
}

cudaError_t cudaMemGetInfo(size_t* available, size_t* total) {
    return call([&] {
        const Arena& arena = runtime().arena;
        if (total) *total = arena.capacity();
        if (available) *available = arena.capacity() - arena.used();
        return cudaSuccess;
    });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
    return call([&] {
        if (!attributes) return cudaErrorInvalidValue;
        std::memset(attributes, 0, sizeof *attributes);
        void* const same = const_cast<void*>(pointer);
        const Block* const block = live_block(pointer);
        if (!block) {
            attributes->type = cudaMemoryTypeUnregistered;
            attributes->device = -2;
            attributes->hostPointer = same;
            return cudaSuccess;
        }
        const bool managed = block->kind == MemoryKind::managed ||
                             (block->kind == MemoryKind::variable && block->flags);
        const bool host =
            block->kind == MemoryKind::pinned || block->kind == MemoryKind::registered;
        attributes->type = managed ? cudaMemoryTypeManaged
                           : host  ? cudaMemoryTypeHost
                                   : cudaMemoryTypeDevice;
        attributes->device = block->device;
        attributes->devicePointer = same;
        attributes->hostPointer = managed || host ? same : nullptr;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceReset(void) {
    Runtime& shared = runtime();
    std::lock_guard<std::recursive_mutex> lock(shared.mutex);
    // After an error in a kernel a reset succeeds, but the device is lost to this process.
    cudaError_t& sticky = shared.sticky[current_device()];
    if (sticky != cudaSuccess) {
        sticky = cudaErrorDevicesUnavailable;
        return cudaSuccess;
    }
    unload_modules();
    drop_loaded_modules();
    forget_streams();
    forget_arrays();
    forget_textures();
    shared.arena.clear(current_device());
    keep_managed_variables();
    forget_peer_access();
    return cudaSuccess;
}

cudaError_t cudaThreadExit(void) { return cudaDeviceReset(); }

// Where the allocation that holds `pointer` begins and ends; 0, or 1 when there is none.
int cutune_emulated_range(const void* pointer, void** base, size_t* bytes) {
    const Block* const block = live_block(pointer);
    if (!block) return 1;
    if (base) *base = reinterpret_cast<void*>(block->base);
    if (bytes) *bytes = block->size;
    return 0;
}

}  // extern "C"

namespace cutune {

// Of allocations of other devices CUDA says "not found", too.
int range_of_address(uint64_t* base, size_t* bytes, uint64_t address) {
    const Block* const block = live_block(reinterpret_cast<const void*>(address));
    if (!block) return cudaErrorInvalidValue;
    if (block->kind == MemoryKind::device && block->device != current_device())
        return cudaErrorSymbolNotFound;
    if (base) *base = block->base;
    if (bytes) *bytes = block->size;
    return 0;
}

namespace {

bool is_managed(const Block& block) {
    return block.kind == MemoryKind::managed ||
           (block.kind == MemoryKind::variable && block.flags);
}

bool is_of_host(const Block& block) {
    return block.kind == MemoryKind::pinned || block.kind == MemoryKind::registered;
}

// One attribute of the memory at an address, which may be none.
void give_attribute(const Block* block, int which, uint64_t address, void* value) {
    // The numbers of CUpointer_attribute, which only cuda.h names.
    enum {
        memory_type = 2,
        device_pointer = 3,
        host_pointer = 4,
        buffer_id = 7,
        is_managed_memory = 8,
        ordinal = 9,
        is_legacy_ipc_capable = 10,
        range_start = 11,
        range_size = 12,
        is_mapped = 13
    };
    const bool is_plain = block && block->kind == MemoryKind::device && !block->flags;
    switch (which) {
        case memory_type:
            *static_cast<unsigned*>(value) = !block ? 0 : is_of_host(*block) ? 1 : 2;
            break;
        case device_pointer:
            *static_cast<uint64_t*>(value) = block ? address : 0;
            break;
        case host_pointer: {
            const bool is_seen = block && (is_of_host(*block) || is_managed(*block));
            *static_cast<uint64_t*>(value) = is_seen ? address : 0;
            break;
        }
        case buffer_id:
            *static_cast<unsigned long long*>(value) = block ? block->id : 0;
            break;
        case is_managed_memory:
            *static_cast<unsigned*>(value) = block && block->kind == MemoryKind::managed;
            break;
        case ordinal:
            *static_cast<int*>(value) = block ? block->device : -2;
            break;
        case is_legacy_ipc_capable:
            *static_cast<unsigned*>(value) = is_plain;
            break;
        case range_start:
            *static_cast<uint64_t*>(value) = block ? block->base : 0;
            break;
        case range_size:
            *static_cast<uint64_t*>(value) = block ? block->size : 0;
            break;
        case is_mapped:
            *static_cast<unsigned*>(value) = block != nullptr;
            break;
        default:
            say_once("cuPointerGetAttributes: attribute " + std::to_string(which) +
                     " is not known");
    }
}

}  // namespace

int attributes_of_address(unsigned count, const int* attributes, void** values,
                          uint64_t address) {
    const Block* const block = live_block(reinterpret_cast<const void*>(address));
    for (unsigned i = 0; i < count; ++i) give_attribute(block, attributes[i], address, values[i]);
    return 0;
}

int attribute_of_address(void* value, int attribute, uint64_t address) {
    const Block* const block = live_block(reinterpret_cast<const void*>(address));
    if (!block) return cudaErrorInvalidValue;
    give_attribute(block, attribute, address, value);
    return 0;
}

}  // namespace cutune

namespace {

// What rewritten programs ask for is quick; others see to it that there is a context.
void* driver_function(const char* name) {
    if (std::strcmp(name, "cuMemGetAddressRange") == 0)
        return reinterpret_cast<void*>(range_of_address);
    if (std::strcmp(name, "cuPointerGetAttributes") == 0)
        return reinterpret_cast<void*>(attributes_of_address);
    if (std::strcmp(name, "cuPointerGetAttribute") == 0)
        return reinterpret_cast<void*>(attribute_of_address);
    return driver_entry(name, CUDART_VERSION);
}

}  // namespace

extern "C" {

#if CUDART_VERSION >= 12000
cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long,
                                    cudaDriverEntryPointQueryResult* result) {
    if (!name || !function) return remember(cudaErrorInvalidValue);
    *function = driver_function(name);
    if (result)
        *result = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
}
#else
cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long) {
    if (!name || !function) return remember(cudaErrorInvalidValue);
    *function = driver_function(name);
    return *function ? cudaSuccess : remember(cudaErrorSymbolNotFound);
}
#endif

#if CUDART_VERSION >= 12050
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned,
                                             unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* result) {
    return cudaGetDriverEntryPoint(name, function, flags, result);
}
#endif

// Where managed memory lives and what is expected of it changes speed alone.
#if CUDART_VERSION >= 13000
cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t, cudaMemLocation, unsigned,
                                 cudaStream_t) {
    return call([&] { return live_block(pointer) ? cudaSuccess : cudaErrorInvalidValue; });
}

cudaError_t cudaMemAdvise(const void* pointer, size_t, cudaMemoryAdvise, cudaMemLocation) {
    return call([&] { return live_block(pointer) ? cudaSuccess : cudaErrorInvalidValue; });
}
#else
cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t, int, cudaStream_t) {
    return call([&] { return live_block(pointer) ? cudaSuccess : cudaErrorInvalidValue; });
}

cudaError_t cudaMemAdvise(const void* pointer, size_t, cudaMemoryAdvise, int) {
    return call([&] { return live_block(pointer) ? cudaSuccess : cudaErrorInvalidValue; });
}
#endif

}  // extern "C"

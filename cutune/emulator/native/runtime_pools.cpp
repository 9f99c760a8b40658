// Memory pools: handles with attributes. All memory comes from the one arena, at once.
#include <map>
#include <set>

#include "runtime.h"

namespace cutune {

namespace {

struct Pool {
    std::map<int, uint64_t> attributes;
};

std::set<const void*>& pools() {
    static auto* const all = new std::set<const void*>;
    return *all;
}

cudaMemPool_t default_pool() {
    static Pool* const pool = new Pool;
    pools().insert(pool);
    return reinterpret_cast<cudaMemPool_t>(pool);
}

cudaMemPool_t& current_pool() {
    static cudaMemPool_t pool = default_pool();
    return pool;
}

Pool* find_pool(cudaMemPool_t handle) {
    return pools().count(handle) ? reinterpret_cast<Pool*>(handle) : nullptr;
}

bool is_flag(cudaMemPoolAttr name) {
    return name == cudaMemPoolReuseFollowEventDependencies ||
           name == cudaMemPoolReuseAllowOpportunistic ||
           name == cudaMemPoolReuseAllowInternalDependencies;
}

cudaError_t give_pool(cudaMemPool_t* result, int device, cudaMemPool_t pool) {
    if (!result) return remember(cudaErrorInvalidValue);
    if (device != 0) return remember(cudaErrorInvalidDevice);
    *result = pool;
    return cudaSuccess;
}

}  // namespace

}  // namespace cutune

using namespace cutune;

extern "C" {

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
    return give_pool(pool, device, default_pool());
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
    return give_pool(pool, device, current_pool());
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
    if (device != 0) return remember(cudaErrorInvalidDevice);
    if (!find_pool(pool)) return remember(cudaErrorInvalidValue);
    current_pool() = pool;
    return cudaSuccess;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* wanted) {
    return call([&] {
        if (!pool || !wanted) return cudaErrorInvalidValue;
        Pool* const fresh = new Pool;
        pools().insert(fresh);
        *pool = reinterpret_cast<cudaMemPool_t>(fresh);
        return cudaSuccess;
    });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    return call([&] {
        Pool* const found = find_pool(pool);
        if (!found || pool == default_pool()) return cudaErrorInvalidValue;
        if (current_pool() == pool) current_pool() = default_pool();
        pools().erase(pool);
        delete found;
        return cudaSuccess;
    });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr name, void* value) {
    return call([&] {
        Pool* const found = find_pool(pool);
        if (!found || !value) return cudaErrorInvalidValue;
        found->attributes[name] = is_flag(name) ? static_cast<uint64_t>(*static_cast<int*>(value))
                                                : *static_cast<uint64_t*>(value);
        return cudaSuccess;
    });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr name, void* value) {
    return call([&] {
        Pool* const found = find_pool(pool);
        if (!found || !value) return cudaErrorInvalidValue;
        const auto set = found->attributes.find(name);
        if (is_flag(name)) {
            *static_cast<int*>(value) =
                set == found->attributes.end() ? 1 : static_cast<int>(set->second);
        } else if (name == cudaMemPoolAttrUsedMemCurrent ||
                   name == cudaMemPoolAttrReservedMemCurrent) {
            *static_cast<uint64_t*>(value) = runtime().arena.used();
        } else {
            *static_cast<uint64_t*>(value) = set == found->attributes.end() ? 0 : set->second;
        }
        return cudaSuccess;
    });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t) {
    return find_pool(pool) ? cudaSuccess : remember(cudaErrorInvalidValue);
}

// There is one device, which may always use its own memory.
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc*, size_t) {
    return find_pool(pool) ? cudaSuccess : remember(cudaErrorInvalidValue);
}

cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool,
                                 cudaMemLocation*) {
    if (!flags || !find_pool(pool)) return remember(cudaErrorInvalidValue);
    *flags = cudaMemAccessFlagsProtReadWrite;
    return cudaSuccess;
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t stream) {
    if (!find_pool(pool)) return remember(cudaErrorInvalidValue);
    return cudaMallocAsync(pointer, bytes, stream);
}

}  // extern "C"

// Memory pools: handles with attributes. All memory comes from the one arena, at once.
#include "runtime_pools.h"

#include <deque>
#include <map>
#include <set>

#include "runtime.h"
#include "runtime_streams.h"

namespace cutune {

namespace {

struct Pool {
    int device;
    unsigned number;
    bool is_destroyed = false;
    std::map<int, uint64_t> attributes;
    std::set<int> users = {};  // the other devices that have access
};

// By number - 1; what is destroyed stays, because its memory may still be in use.
std::deque<Pool>& pools() {
    static auto* const all = new std::deque<Pool>;
    return *all;
}

Pool* make_pool(int device) {
    pools().push_back({device, static_cast<unsigned>(pools().size() + 1)});
    return &pools().back();
}

Pool* default_pool(int device) {
    static Pool* all[kMostDevices] = {};
    if (!all[device]) all[device] = make_pool(device);
    return all[device];
}

Pool*& current_pool(int device) {
    static Pool* all[kMostDevices] = {};
    if (!all[device]) all[device] = default_pool(device);
    return all[device];
}

Pool* find_pool(cudaMemPool_t handle) {
    for (Pool& pool : pools())
        if (reinterpret_cast<cudaMemPool_t>(&pool) == handle && !pool.is_destroyed) return &pool;
    return nullptr;
}

bool is_flag(cudaMemPoolAttr name) {
    return name == cudaMemPoolReuseFollowEventDependencies ||
           name == cudaMemPoolReuseAllowOpportunistic ||
           name == cudaMemPoolReuseAllowInternalDependencies;
}

template <class Find>
cudaError_t give_pool(cudaMemPool_t* result, int device, Find find) {
    return call([&] {
        if (!result) return cudaErrorInvalidValue;
        if (!is_device(device)) return cudaErrorInvalidDevice;
        *result = reinterpret_cast<cudaMemPool_t>(find(device));
        return cudaSuccess;
    });
}

bool is_other_device(const Pool& pool, const cudaMemLocation& location) {
    return location.type == cudaMemLocationTypeDevice && is_device(location.id) &&
           location.id != pool.device;
}

}  // namespace

unsigned pool_of(int device) { return current_pool(device)->number; }

bool pool_gives_access(unsigned number, int device) {
    return number > 0 && pools()[number - 1].users.count(device) > 0;
}

}  // namespace cutune

using namespace cutune;

extern "C" {

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
    return give_pool(pool, device, default_pool);
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
    return give_pool(pool, device, current_pool);
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
    return call([&] {
        Pool* const found = find_pool(pool);
        if (!is_device(device)) return cudaErrorInvalidDevice;
        if (!found || found->device != device) return cudaErrorInvalidValue;
        current_pool(device) = found;
        return cudaSuccess;
    });
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* wanted) {
    return call([&] {
        if (!pool || !wanted) return cudaErrorInvalidValue;
        const bool on_device = wanted->location.type == cudaMemLocationTypeDevice;
        if (on_device && !is_device(wanted->location.id)) return cudaErrorInvalidValue;
        *pool = reinterpret_cast<cudaMemPool_t>(
            make_pool(on_device ? wanted->location.id : current_device()));
        return cudaSuccess;
    });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    return call([&] {
        Pool* const found = find_pool(pool);
        if (!found || found == default_pool(found->device)) return cudaErrorInvalidValue;
        Pool*& current = current_pool(found->device);
        if (current == found) current = default_pool(found->device);
        found->is_destroyed = true;
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

// A device may always use its own memory.
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* wanted,
                                 size_t count) {
    return call([&] {
        Pool* const found = find_pool(pool);
        if (!found || (count && !wanted)) return cudaErrorInvalidValue;
        for (size_t i = 0; i < count; ++i) {
            if (!is_other_device(*found, wanted[i].location)) continue;
            if (wanted[i].flags == cudaMemAccessFlagsProtNone)
                found->users.erase(wanted[i].location.id);
            else
                found->users.insert(wanted[i].location.id);
        }
        return cudaSuccess;
    });
}

cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool,
                                 cudaMemLocation* location) {
    return call([&] {
        const Pool* const found = find_pool(pool);
        if (!flags || !found) return cudaErrorInvalidValue;
        const bool is_refused = location && is_other_device(*found, *location) &&
                                !found->users.count(location->id);
        *flags = is_refused ? cudaMemAccessFlagsProtNone : cudaMemAccessFlagsProtReadWrite;
        return cudaSuccess;
    });
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t stream) {
    const Pool* const found = find_pool(pool);
    if (!found) return remember(cudaErrorInvalidValue);
    if (!known_stream(stream)) return remember(cudaErrorInvalidResourceHandle);
    return allocate(pointer, bytes, MemoryKind::device, found->number, found->device);
}

}  // extern "C"

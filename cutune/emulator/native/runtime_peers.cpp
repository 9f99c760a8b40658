// Peer access: which device may use which memory, and copies from device to device.
#include "runtime_peers.h"

#include <string>

#include "runtime_pools.h"
#include "runtime_streams.h"

namespace cutune {

namespace {

// By the device that accesses, and the one whose memory is accessed.
bool (&enabled())[kMostDevices][kMostDevices] {
    static bool all[kMostDevices][kMostDevices] = {};
    return all;
}

bool belongs_to_a_device(const Block& block) {
    if (block.kind == MemoryKind::device) return true;
    return block.kind == MemoryKind::variable && !block.flags;  // flags: it is managed
}

bool from_pool(const Block& block) { return block.kind == MemoryKind::device && block.flags; }

void explain(int device, const Block& block) {
    const std::string own = std::to_string(device), other = std::to_string(block.device);
    say_once("a kernel on device " + own + " uses memory of device " + other + ", to which device " +
             own + " has no access (" +
             (from_pool(block) ? "cudaMemPoolSetAccess" : "cudaDeviceEnablePeerAccess") + ")");
}

// Does memory that is known to be of a device belong to `device`? Other memory may be anywhere.
bool lies_on(const void* pointer, int device) {
    const Block* const block = runtime().arena.block(reinterpret_cast<uint64_t>(pointer));
    if (!block || !belongs_to_a_device(*block) || block->device == device) return true;
    say("cudaMemcpyPeer: %p is memory of device %d, not of device %d", pointer, block->device,
        device);
    return false;
}

}  // namespace

bool reaches(int device, const Block& block) {
    if (block.device == device || !belongs_to_a_device(block)) return true;
    return from_pool(block) ? pool_gives_access(block.flags, device)
                            : enabled()[device][block.device];
}

void forget_peer_access() {
    for (int other = 0; other < kMostDevices; ++other)
        enabled()[current_device()][other] = enabled()[other][current_device()] = false;
}

const Allocation* DeviceMemory::find(uint64_t address) const {
    const Block* const block = runtime().arena.block(address);
    if (!block || reaches(device_, *block)) return block;
    if (block->live) explain(device_, *block);
    return nullptr;
}

uint64_t DeviceMemory::allocate(uint64_t bytes) {
    return runtime().arena.allocate(bytes, MemoryKind::device, 0, device_);
}

void DeviceMemory::release(uint64_t address) { runtime().arena.free(address); }

const Texture* DeviceMemory::texture(uint64_t handle) const {
    return runtime().arena.texture(handle);
}

}  // namespace cutune

using namespace cutune;

extern "C" {

cudaError_t cudaDeviceCanAccessPeer(int* can, int number, int peer) {
    if (!can) return remember(cudaErrorInvalidValue);
    *can = 0;
    if (!is_device(number) || !is_device(peer)) return remember(cudaErrorInvalidDevice);
    *can = number != peer;
    return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
    return call([&] {
        if (!is_device(peer)) return cudaErrorInvalidDevice;
        if (peer == current_device()) return cudaErrorPeerAccessUnsupported;
        if (flags != 0) return cudaErrorInvalidValue;
        bool& access = enabled()[current_device()][peer];
        if (access) return cudaErrorPeerAccessAlreadyEnabled;
        access = true;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
    return call([&] {
        if (!is_device(peer)) return cudaErrorInvalidDevice;
        bool& access = enabled()[current_device()][peer];
        if (!access) return cudaErrorPeerAccessNotEnabled;
        access = false;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr name, int number, int peer) {
    if (!value) return remember(cudaErrorInvalidValue);
    if (!is_device(number) || !is_device(peer) || number == peer)
        return remember(cudaErrorInvalidDevice);
    switch (name) {
        case cudaDevP2PAttrPerformanceRank: *value = 0; return cudaSuccess;
        case cudaDevP2PAttrAccessSupported:
        case cudaDevP2PAttrNativeAtomicSupported: *value = 1; return cudaSuccess;
        case cudaDevP2PAttrCudaArrayAccessSupported: *value = 0; return cudaSuccess;
        default: return remember(cudaErrorInvalidValue);
    }
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                size_t bytes, cudaStream_t stream) {
    if (!is_device(to_device) || !is_device(from_device)) return remember(cudaErrorInvalidDevice);
    if (!lies_on(to, to_device) || !lies_on(from, from_device))
        return remember(cudaErrorInvalidValue);
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}

cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device,
                           size_t bytes) {
    return cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, nullptr);
}

}  // extern "C"

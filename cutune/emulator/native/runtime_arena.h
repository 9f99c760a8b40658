// Device memory: one reserved range of host addresses, so that a device address is a host address.
// Allocations are 256-byte aligned, zero-filled and separated by redzones; freed ones stay known
// for a while, so that a use after free is distinguished from a stray pointer. All devices share the
// range, and the memory of the host behind it.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <shared_mutex>
#include <unordered_map>

#include "machine.h"
#include "machine_texture.h"
#include "machine_written.h"

namespace cutune {

enum class MemoryKind { device, managed, pinned, registered, variable };

struct Block : Allocation {
    MemoryKind kind;
    unsigned flags;  // as given to cudaHostAlloc, cudaHostRegister or cudaMallocManaged
    int device;      // the number of the device that it belongs to
    uint64_t id;     // no other block of the process ever has it
};

class Arena {
  public:
    // At most `capacity` bytes may be allocated at a time. Each allocation of a device is `overrun`
    // bytes longer than it was asked for.
    explicit Arena(uint64_t capacity, uint64_t overrun = 0);

    const Texture* texture(uint64_t handle) const;

    // The block that holds `address`, live or freed, or nullptr.
    const Block* block(uint64_t address) const;
    // Returns 0 when the memory is used up.
    uint64_t allocate(uint64_t bytes, MemoryKind kind, unsigned flags, int device);
    // False unless `base` is the beginning of a live block.
    bool free(uint64_t base);

    // Memory that lives elsewhere: registered host memory, variables of modules.
    bool adopt(uint64_t base, uint64_t size, MemoryKind kind, unsigned flags, int device);
    bool forget(uint64_t base);
    // Free everything of a device that is not registered host memory.
    void clear(int device);

    // Is notified of allocations and releases of device memory; may be nullptr.
    Written* written = nullptr;

    // Textures and surfaces by the handles of their objects.
    void set_texture(uint64_t handle, const Texture& texture) { textures_[handle] = texture; }
    void drop_texture(uint64_t handle) { textures_.erase(handle); }

    uint64_t used() const { return used_; }
    uint64_t capacity() const { return capacity_; }

    template <class Visit>
    void each_live(Visit visit) const {
        std::shared_lock<std::shared_mutex> lock(mutex_);
        for (const auto& entry : blocks_)
            if (entry.second.live) visit(entry.second);
    }

  private:
    struct Range {
        uint64_t base, span;
    };
    uint64_t take(uint64_t span, uint64_t alignment);
    void retire(uint64_t base);
    static uint64_t span_of(uint64_t bytes);
    static bool owned(const Block& block);

    mutable std::shared_mutex mutex_;  // kernels may allocate on several threads
    std::unordered_map<uint64_t, Texture> textures_;
    std::map<uint64_t, Block> blocks_;
    std::deque<uint64_t> freed_;                  // oldest first; still in blocks_, not live
    std::multimap<uint64_t, uint64_t> reusable_;  // span to base
    uint64_t begin_ = 0, next_ = 0, end_ = 0;
    uint64_t capacity_, overrun_, used_ = 0;
};

}  // namespace cutune

// The arena: addresses are handed out once and in order until the reserved range is used up, which
// makes them the same in every run and keeps freed memory recognisable.
#include "runtime_arena.h"

#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <mutex>

namespace cutune {

namespace {

constexpr uint64_t kAlignment = 256;
constexpr uint64_t kPage = 4096;
// Below this, page-sized redzones would cost more memory than the data.
constexpr uint64_t kSmall = 16384;
constexpr size_t kFreedKept = 16384;

uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

Block living(uint64_t base, uint64_t bytes, MemoryKind kind, unsigned flags, int device) {
    Block block;
    block.base = base;
    block.size = bytes;
    block.live = true;
    block.kind = kind;
    block.flags = flags;
    block.device = device;
    static std::atomic<uint64_t> blocks{0};
    block.id = ++blocks;
    return block;
}

}  // namespace

Arena::Arena(uint64_t capacity, uint64_t overrun) : capacity_(capacity), overrun_(overrun) {
    // The wish for a fixed address makes runs comparable; the kernel may place us elsewhere.
    void* const wish = reinterpret_cast<void*>(uint64_t{0x200000000000});
    for (uint64_t size = uint64_t{1} << 40; size >= (uint64_t{1} << 26); size /= 2) {
        void* const memory = mmap(wish, size, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) continue;
        begin_ = next_ = reinterpret_cast<uint64_t>(memory);
        end_ = begin_ + size;
        return;
    }
}

uint64_t Arena::span_of(uint64_t bytes) {
    const uint64_t unit = bytes < kSmall ? kAlignment : kPage;
    return round_up(bytes, unit) + unit;
}

bool Arena::owned(const Block& block) {
    return block.kind != MemoryKind::registered && block.kind != MemoryKind::variable;
}

const Block* Arena::block(uint64_t address) const {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    auto entry = blocks_.upper_bound(address);
    if (entry == blocks_.begin()) return nullptr;
    --entry;
    return address - entry->second.base < entry->second.size ? &entry->second : nullptr;
}

uint64_t Arena::take(uint64_t span, uint64_t alignment) {
    const uint64_t base = round_up(next_, alignment);
    if (base <= end_ && span <= end_ - base) {
        next_ = base + span;
        return base;
    }
    while (true) {
        for (auto entry = reusable_.lower_bound(span); entry != reusable_.end(); ++entry) {
            if (entry->second % alignment != 0) continue;
            const Range range{entry->second, entry->first};
            reusable_.erase(entry);
            if (range.span > span) reusable_.emplace(range.span - span, range.base + span);
            return range.base;
        }
        if (freed_.empty()) return 0;
        retire(freed_.front());
        freed_.pop_front();
    }
}

uint64_t Arena::allocate(uint64_t bytes, MemoryKind kind, unsigned flags, int device) {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    const bool is_of_device = kind == MemoryKind::device || kind == MemoryKind::managed;
    if (bytes != 0 && bytes <= capacity_ && is_of_device) bytes += overrun_;
    if (bytes == 0 || bytes > capacity_ || used_ > capacity_ - bytes) return 0;
    const uint64_t base = take(span_of(bytes), bytes < kSmall ? kAlignment : kPage);
    if (base == 0) return 0;
    blocks_[base] = living(base, bytes, kind, flags, device);
    used_ += bytes;
    if (written && kind == MemoryKind::device) written->track(base, bytes);
    return base;
}

bool Arena::free(uint64_t base) {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    const auto entry = blocks_.find(base);
    if (entry == blocks_.end() || !entry->second.live || !owned(entry->second)) return false;
    Block& block = entry->second;
    block.live = false;
    if (written) written->forget(base);
    used_ -= block.size;
    void* const memory = reinterpret_cast<void*>(base);
    // Zero for whoever gets the addresses next, and back to the host at once.
    if (block.size < kSmall)
        std::memset(memory, 0, block.size);
    else
        madvise(memory, round_up(block.size, kPage), MADV_DONTNEED);
    freed_.push_back(base);
    if (freed_.size() > kFreedKept) {
        retire(freed_.front());
        freed_.pop_front();
    }
    return true;
}

void Arena::retire(uint64_t base) {
    const auto entry = blocks_.find(base);
    reusable_.emplace(span_of(entry->second.size), base);
    blocks_.erase(entry);
}

bool Arena::adopt(uint64_t base, uint64_t size, MemoryKind kind, unsigned flags, int device) {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    auto after = blocks_.lower_bound(base);
    if (after != blocks_.end() && after->second.base < base + size) return false;
    if (after != blocks_.begin()) {
        const Block& before = std::prev(after)->second;
        if (before.base + before.size > base) return false;
    }
    blocks_.emplace(base, living(base, size, kind, flags, device));
    return true;
}

bool Arena::forget(uint64_t base) {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    const auto entry = blocks_.find(base);
    if (entry == blocks_.end() || owned(entry->second)) return false;
    blocks_.erase(entry);
    return true;
}

void Arena::clear(int device) {
    std::deque<uint64_t> bases;
    each_live([&](const Block& block) {
        if (block.kind != MemoryKind::registered && block.device == device)
            bases.push_back(block.base);
    });
    for (const uint64_t base : bases)
        if (!free(base)) forget(base);
}

const Texture* Arena::texture(uint64_t handle) const {
    const auto found = textures_.find(handle);
    return found == textures_.end() ? nullptr : &found->second;
}

}  // namespace cutune

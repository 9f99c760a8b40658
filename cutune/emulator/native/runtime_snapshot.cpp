// Snapshots of all device memory, for instrumented programs that run one launch many times: unlike
// a GPU, the emulated device knows everything that a kernel can have written.
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "runtime.h"
#include "runtime_log.h"

namespace cutune {

namespace {

struct Copy {
    uint64_t base, size;
    uint64_t offset;  // in the snapshot's buffer
};

struct Snapshot {
    std::vector<Copy> copies;
    void* buffer = MAP_FAILED;
    uint64_t size = 0;
    uint64_t launches = 0;  // since it was taken
};

uint64_t experiments = 0;  // in which something was launched in several ways

Snapshot& snapshot() {
    static Snapshot* const shared = new Snapshot;
    return *shared;
}

// Registered memory belongs to the host, which may have changed it meanwhile.
bool restorable(const Block& block) { return block.kind != MemoryKind::registered; }

void discard() {
    Snapshot& taken = snapshot();
    experiments += taken.launches > 1;
    if (taken.buffer != MAP_FAILED) munmap(taken.buffer, taken.size);
    taken = Snapshot{};
}

}  // namespace

bool is_for_experiments() {
    static const uint64_t wanted = std::strtoull(environment("CUTUNE_EXPERIMENTS").c_str(), nullptr, 10);
    std::lock_guard<std::recursive_mutex> lock(runtime().mutex);
    Snapshot& taken = snapshot();
    if (taken.buffer != MAP_FAILED) {
        taken.launches++;
        return true;
    }
    return wanted > 0 && experiments >= wanted;
}

}  // namespace cutune

using namespace cutune;

extern "C" {

// Remember the content of all live device memory in place of the snapshot before. 0 when done.
int cutune_emulated_snapshot(void) {
    std::lock_guard<std::recursive_mutex> lock(runtime().mutex);
    discard();
    Snapshot& taken = snapshot();
    runtime().arena.each_live([&](const Block& block) {
        if (!restorable(block)) return;
        taken.copies.push_back({block.base, block.size, taken.size});
        taken.size += (block.size + 63) / 64 * 64;
    });
    if (taken.size == 0) return 0;
    // Pages straight from the system: large, short-lived, and given back at once.
    taken.buffer = mmap(nullptr, taken.size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (taken.buffer == MAP_FAILED) {
        discard();
        return 1;
    }
    for (const Copy& copy : taken.copies)
        std::memcpy(static_cast<char*>(taken.buffer) + copy.offset,
                    reinterpret_cast<const void*>(copy.base), copy.size);
    return 0;
}

// Write the snapshot back; memory freed since then is left out. May be called many times.
int cutune_emulated_restore(void) {
    std::lock_guard<std::recursive_mutex> lock(runtime().mutex);
    const Snapshot& taken = snapshot();
    for (const Copy& copy : taken.copies) {
        const Block* const block = runtime().arena.block(copy.base);
        if (!block || !block->live || block->base != copy.base || block->size != copy.size)
            continue;
        std::memcpy(reinterpret_cast<void*>(copy.base),
                    static_cast<const char*>(taken.buffer) + copy.offset, copy.size);
    }
    return 0;
}

// Give the snapshot's memory back.
int cutune_emulated_discard(void) {
    std::lock_guard<std::recursive_mutex> lock(runtime().mutex);
    discard();
    return 0;
}

}  // extern "C"

// C functions around the parts of the replacement libcudart that need no CUDA headers, for ctypes.
#include <cstring>

#include "runtime_arena.h"
#include "runtime_fatbinary.h"

using namespace cutune;

extern "C" {

void* arena_create(uint64_t capacity) { return new Arena(capacity); }

void arena_destroy(void* arena) { delete static_cast<Arena*>(arena); }

uint64_t arena_allocate(void* arena, uint64_t bytes) {
    return static_cast<Arena*>(arena)->allocate(bytes, MemoryKind::device, 0, 0);
}

int arena_free(void* arena, uint64_t base) { return static_cast<Arena*>(arena)->free(base); }

int arena_adopt(void* arena, uint64_t base, uint64_t size) {
    return static_cast<Arena*>(arena)->adopt(base, size, MemoryKind::registered, 0, 0);
}

uint64_t arena_used(void* arena) { return static_cast<Arena*>(arena)->used(); }

// 0: nothing known there, 1: freed, 2: live; then `base` and `size` are set.
int arena_find(void* arena, uint64_t address, uint64_t* base, uint64_t* size) {
    const Block* const found = static_cast<Arena*>(arena)->block(address);
    if (!found) return 0;
    *base = found->base;
    *size = found->size;
    return found->live ? 2 : 1;
}

// The PTX of a fat binary, or why there is none; returns the architecture or 0.
unsigned fat_binary_text(const void* container, size_t bytes, char* text, size_t room) {
    const FatBinary found = read_fat_binary(container, bytes);
    const std::string& shown = found.ptx.empty() ? found.problem : found.ptx;
    std::strncpy(text, shown.c_str(), room - 1);
    return found.ptx.empty() ? 0 : found.architecture;
}

}  // extern "C"

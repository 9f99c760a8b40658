// What all of the machine is written in.
#pragma once
#include <cstdint>
#include <cstring>

#define ALWAYS_INLINE inline __attribute__((always_inline))
#define NEVER_INLINE __attribute__((noinline))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

namespace cutune {

using u8 = uint8_t;
using s8 = int8_t;
using u16 = uint16_t;
using s16 = int16_t;
using u32 = uint32_t;
using s32 = int32_t;
using u64 = uint64_t;
using s64 = int64_t;
using f32 = float;
using f64 = double;

constexpr u32 LANES = 32;
constexpr u32 FULL = ~0u;
constexpr u32 SECTOR_BYTES = 32;

template <class To, class From> ALWAYS_INLINE To bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}

}  // namespace cutune

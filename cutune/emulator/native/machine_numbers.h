// Single-precision numbers as CUDA's arithmetic leaves them: subnormals, NaN, modes of rounding.
#pragma once

#include <cfenv>

#include "machine_core.h"

namespace cutune {

// Subnormal numbers become zeros of their sign.
ALWAYS_INLINE f32 flush(f32 a) {
    const u32 x = bits<u32>(a);
    return bits<f32>((x & 0x7f800000) ? x : x & 0x80000000);
}

// Single-precision arithmetic gives one NaN only.
ALWAYS_INLINE f32 canonical(f32 a) { return a == a ? a : bits<f32>(0x7fffffffu); }
ALWAYS_INLINE f64 canonical(f64 a) { return a; }

// The processor's modes, by CUDA's numbers for them.
constexpr int ROUNDING[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

}  // namespace cutune

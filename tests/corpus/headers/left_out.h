// Read before cuda_runtime.h: leaves out of it what few programs use, by its own include guards. In
// a small program that is most of what is compiled.
#pragma once
// Mathematics. <cmath> and <math.h> bring it back.
#define __MATH_FUNCTIONS_H__
#define __MATH_FUNCTIONS_HPP__
#define __DEVICE_FUNCTIONS_HPP__
// Loads and stores by their way through the caches, atomics of a block or the system and of 64 bits.
#define __SM_32_INTRINSICS_H__
#define __SM_32_ATOMIC_FUNCTIONS_H__
#define __SM_60_ATOMIC_FUNCTIONS_H__
#define __SM_61_INTRINSICS_H__
// Votes of a warp, matrices, and what newer GPUs have.
#define __SM_20_INTRINSICS_H__
#define __SM_35_ATOMIC_FUNCTIONS_H__
#define __SM_35_INTRINSICS_H__
#define __SM_70_RT_H__
#define __SM_80_RT_H__
#define __SM_90_RT_H__
#define __SM_100_RT_H__
// Rounding of doubles that is asked for, textures and surfaces, launches by the device.
#define __DEVICE_DOUBLE_FUNCTIONS_H__
#define __TEXTURE_INDIRECT_FUNCTIONS_H__
#define __SURFACE_INDIRECT_FUNCTIONS_H__
#define __CHANNEL_DESCRIPTOR_H__
#define __CUDA_DEVICE_RUNTIME_API_H__
#ifdef __cplusplus
// What cuda_runtime.h names of <utility>, which is left out there.
namespace std {
template <class T> T forward();
}
#endif
// All others in one file, see tests/support/flat_headers.py.
#if defined(__CUDACC__) && __has_include("flat.h")
#include "flat.h"
#endif
// These come with them, and others of CUDA's headers rely on that.
#if defined(__CUDACC__) && !defined(__CUDA_RUNTIME_H__)
#include <initializer_list>
#include <limits.h>
#include <stdlib.h>
#endif
// What is emitted asks to be optimised where this macro is there.
#undef __NVCC_DIAG_PRAGMA_SUPPORT__
// To optimise is most of compiling the host's code. The compiler itself, behind the preprocessor and
// cudafe++, reads this without __CUDACC__.
#if defined(__OPTIMIZE__) && !defined(__CUDACC__)
#pragma GCC optimize("O0")
#endif

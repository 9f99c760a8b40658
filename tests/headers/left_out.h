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
// These come with them, and others of CUDA's headers rely on that.
#ifdef __CUDACC__
#include <limits.h>
#include <stdlib.h>
#endif
// What is emitted is not optimised then, which is most of its compiling.
#undef __NVCC_DIAG_PRAGMA_SUPPORT__

// Read before cuda_runtime.h in place of the other one of this name: leaves out no header, only what
// the host's compiler takes to optimise.
#pragma once
// Here <cmath> brings nothing back, and <utility> is there.
#define CUDA_MATH_IS_THERE
#define CUDA_GOES_WITHOUT_UTILITY
#if defined(__CUDACC__) && __has_include("flat.h")
#include "flat.h"
#endif
#undef __NVCC_DIAG_PRAGMA_SUPPORT__
#if defined(__OPTIMIZE__) && !defined(__CUDACC__)
#pragma GCC optimize("O0")
#endif

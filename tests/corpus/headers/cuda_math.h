// The mathematics that `left_out.h` has left out.
#if defined(__CUDACC__) && !defined(CUDA_MATH_IS_THERE)
#define CUDA_MATH_IS_THERE
#undef __MATH_FUNCTIONS_H__
#undef __MATH_FUNCTIONS_HPP__
#undef __DEVICE_FUNCTIONS_HPP__
#if __has_include("intrinsics.h")
#include "intrinsics.h"
#endif
#define __CUDA_INCLUDE_COMPILER_INTERNAL_HEADERS__
#include <crt/math_functions.h>
#include <crt/device_functions.hpp>
#undef __CUDA_INCLUDE_COMPILER_INTERNAL_HEADERS__
#endif

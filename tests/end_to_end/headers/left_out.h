// Read before cuda_runtime.h: what hardly a program of the tests needs is left out of CUDA's
// headers, by their own include guards. They are most of what is compiled in a small program.
// Mathematics is there where <cmath> or <math.h> is included.
#pragma once
#define __MATH_FUNCTIONS_H__
#define __MATH_FUNCTIONS_HPP__
#define __DEVICE_FUNCTIONS_HPP__
#define __DEVICE_DOUBLE_FUNCTIONS_H__
#define __SM_20_INTRINSICS_H__
#define __SM_35_INTRINSICS_H__
#define __SM_61_INTRINSICS_H__
#define __SM_70_RT_H__
#define __SM_80_RT_H__
#define __SM_90_RT_H__
#define __SM_100_RT_H__
#define __TEXTURE_INDIRECT_FUNCTIONS_H__
#define __SURFACE_INDIRECT_FUNCTIONS_H__
#define __CHANNEL_DESCRIPTOR_H__
#define __CUDA_DEVICE_RUNTIME_API_H__
#define __DRIVER_FUNCTIONS_H__
#define __LIBRARY_TYPES_H__
// What is left relies on the mathematics to include these.
#ifdef __CUDACC__
#include <limits.h>
#include <stdlib.h>
#endif

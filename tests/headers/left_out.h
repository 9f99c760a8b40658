// Read before cuda_runtime.h: leaves the mathematics out of it, by its own include guards. In a
// small program they are most of what is compiled. <cmath> and <math.h> bring them back.
#pragma once
#define __MATH_FUNCTIONS_H__
#define __MATH_FUNCTIONS_HPP__
#define __DEVICE_FUNCTIONS_HPP__
// These come with them, and others of CUDA's headers rely on that.
#ifdef __CUDACC__
#include <limits.h>
#include <stdlib.h>
#endif

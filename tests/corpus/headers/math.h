#include_next <math.h>

#include "cuda_math.h"

// The other translation unit of two_files_main.cu.
#include "check.h"

static __global__ void step(int *x) { *x += 10; }

template <int amount>
__global__ void many(int *x) {
    *x += amount;
}

void add_ten(int *x) {
    step<<<1, 1>>>(x);
    many<100><<<1, 1>>>(x);
    many<1000><<<1, 1>>>(x);
}

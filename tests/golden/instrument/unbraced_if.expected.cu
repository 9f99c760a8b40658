#include "cutune_launch.h"
static inline long long cutune_guard_1_x(const long long *cutune_argument) { const long long n = cutune_argument[0]; return cutune_fits_int(n) ? (n) : 0; }
static inline long long cutune_guard_2_x(const long long *cutune_argument) { const long long n = cutune_argument[0]; return cutune_fits_int(n) ? (n) : 0; }
static inline long long cutune_guard_3_x(const long long *cutune_argument) { const long long n = cutune_argument[0]; return cutune_fits_int(n) ? (n) : 0; }
static inline long long cutune_guard_4_x(const long long *cutune_argument) { const long long n = cutune_argument[0]; return cutune_fits_int(n) ? (n) : 0; }
static inline long long cutune_guard_5_x(const long long *cutune_argument) { const long long n = cutune_argument[0]; return cutune_fits_int(n) ? (n) : 0; }
static inline long long cutune_guard_6_x(const long long *cutune_argument) { const long long n = cutune_argument[0]; return cutune_fits_int(n) ? (n) : 0; }
static const cutune_site cutune_sites[] = {
    {1, "scale", "unbraced_if.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_1_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, true},
    {2, "shift", "unbraced_if.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_2_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, true},
    {3, "scale", "unbraced_if.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_3_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, true},
    {4, "shift", "unbraced_if.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_4_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, true},
    {5, "shift", "unbraced_if.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_5_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, true},
    {6, "shift", "unbraced_if.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_6_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, true},
};
#include "cutune_probe.h"
#line 1 "unbraced_if.cu"
// A launch stays one statement: an if without braces and its else go on compiling.
__global__ void scale(int n, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2.0f;
}

__global__ void shift(int n, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += 1.0f;
}

void run(bool first, int n, float *x) {
    dim3 block(256);
    dim3 grid((n + 255) / 256);
    if (first)
        for (cutune_launch cutune_1(1, grid, block, 0, 0, n, x); cutune_1.next();) scale<<<cutune_1.grid, cutune_1.block, cutune_1.smem, cutune_1.stream>>>(n, x);
    else
        for (cutune_launch cutune_2(2, grid, block, 0, 0, n, x); cutune_2.next();) shift<<<cutune_2.grid, cutune_2.block, cutune_2.smem, cutune_2.stream>>>(n, x);
    for (int step = 0; step < 3; step++)
        if (step != 1) for (cutune_launch cutune_3(3, grid, block, 0, 0, n, x); cutune_3.next();) scale<<<cutune_3.grid, cutune_3.block, cutune_3.smem, cutune_3.stream>>>(n, x);
    switch (n) {
        case 1: for (cutune_launch cutune_4(4, 1, 32, 0, 0, n, x); cutune_4.next();) shift<<<cutune_4.grid, cutune_4.block, cutune_4.smem, cutune_4.stream>>>(n, x); break;
        default: for (cutune_launch cutune_5(5, grid, block, 0, 0, n, x); cutune_5.next();) shift<<<cutune_5.grid, cutune_5.block, cutune_5.smem, cutune_5.stream>>>(n, x);
    }
    while (n-- > 4) for (cutune_launch cutune_6(6, grid, block, 0, 0, n, x); cutune_6.next();) shift<<<cutune_6.grid, cutune_6.block, cutune_6.smem, cutune_6.stream>>>(n, x);
}

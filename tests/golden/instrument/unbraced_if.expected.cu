#define CUTUNE_TILES
#include "cutune_launch.h"
#include "cutune_range.h"
#include "cutune_allocation.h"
#include "cutune_exact.h"
static inline long long cutune_guard_1_x(const long long *argument_) { const cutune_exact n = argument_[0]; return cutune_fits_int(argument_[0]) ? cutune_bound(n) : 0; }
static inline long long cutune_guard_2_x(const long long *argument_) { const cutune_exact n = argument_[0]; return cutune_fits_int(argument_[0]) ? cutune_bound(n) : 0; }
static inline long long cutune_guard_3_x(const long long *argument_) { const cutune_exact n = argument_[0]; return cutune_fits_int(argument_[0]) ? cutune_bound(n) : 0; }
static inline long long cutune_guard_4_x(const long long *argument_) { const cutune_exact n = argument_[0]; return cutune_fits_int(argument_[0]) ? cutune_bound(n) : 0; }
static inline long long cutune_guard_5_x(const long long *argument_) { const cutune_exact n = argument_[0]; return cutune_fits_int(argument_[0]) ? cutune_bound(n) : 0; }
static inline long long cutune_guard_6_x(const long long *argument_) { const cutune_exact n = argument_[0]; return cutune_fits_int(argument_[0]) ? cutune_bound(n) : 0; }
static const cutune_site cutune_sites[] = {
    {1, "scale", "unbraced_if.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_1_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, 0u, true, 1u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {2, "shift", "unbraced_if.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_2_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, 0u, true, 1u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {3, "scale", "unbraced_if.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_3_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, 0u, true, 1u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {4, "shift", "unbraced_if.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_4_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, 0u, true, 1u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {5, "shift", "unbraced_if.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_5_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, 0u, true, 1u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {6, "shift", "unbraced_if.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_6_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, 0u, true, 1u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
};
#include "cutune_probe.h"
#include "cutune_deduced.h"
#include "cutune_call.h"
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
        cutune_launch(1, grid, block) ? (void)0 : cutune_call(scale)(n, x);
    else
        cutune_launch(2, grid, block) ? (void)0 : cutune_call(shift)(n, x);
    for (int step = 0; step < 3; step++)
        if (step != 1) cutune_launch(3, grid, block, 0, 0) ? (void)0 : cutune_call(scale)(n, x);
    switch (n) {
        case 1: cutune_launch(4, 1, 32) ? (void)0 : cutune_call(shift)(n, x); break;
        default: cutune_launch(5, grid, block) ? (void)0 : cutune_call(shift)(n, x);
    }
    while (n-- > 4) cutune_launch(6, grid, block) ? (void)0 : cutune_call(shift)(n, x);
}

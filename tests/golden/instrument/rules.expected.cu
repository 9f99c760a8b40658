#define CUTUNE_TILES
#include "cutune_launch.h"
#include "cutune_range.h"
#include "cutune_allocation.h"
#include "cutune_exact.h"
static inline long long cutune_guard_1_x(const long long *argument_) { const cutune_exact columns = argument_[1]; return argument_[1] >= 0 && cutune_fits_int(argument_[1]) ? cutune_bound(columns) : 0; }
static inline long long cutune_guard_1_y(const long long *argument_) { const cutune_exact rows = argument_[0]; return cutune_fits_int(argument_[0]) ? cutune_bound(rows) : 0; }
static inline bool cutune_free_1(const long long *argument_, unsigned long long integers_, const long long *extent_, cutune_memory *allocation_) { (void)allocation_; if ((~integers_ & 2ull) != 0) return false; const cutune_exact columns = argument_[1]; return argument_[1] >= 0 && cutune_fits_int(argument_[1]) && cutune_reaches(4 * columns, 4, extent_[0]); }
static inline long long cutune_guard_2_x(const long long *argument_) { const cutune_exact n = argument_[0]; return argument_[0] >= 0 && cutune_fits_int(argument_[0]) ? cutune_bound(n - 1) : 0; }
static inline long long cutune_guard_4_x(const long long *argument_) { const cutune_exact n = argument_[0]; return cutune_fits_int(argument_[0]) ? cutune_bound(n) : 0; }
static inline bool cutune_free_5(const long long *argument_, unsigned long long integers_, const long long *extent_, cutune_memory *allocation_) { (void)extent_; (void)allocation_; if ((~integers_ & 1ull) != 0) return false; const cutune_exact n = argument_[0]; return cutune_fits_int(argument_[0]) && cutune_reaches(536870912, n - 536870912, 1); }
static const cutune_site cutune_sites[] = {
    {1, "guarded", "rules.cu", {cutune_guarded, cutune_guarded, cutune_fixed}, {cutune_guard_1_x, cutune_guard_1_y, nullptr}, 3ull, 1024u, nullptr, 0ull, nullptr, false, 0u, true, 3u, cutune_free_1, 2ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {2, "inner", "rules.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_2_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, 0u, true, 1u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {3, "unguarded", "rules.cu", {cutune_divide, cutune_fixed, cutune_fixed}, {nullptr, nullptr, nullptr}, 0ull, 1024u, nullptr, 0ull, nullptr, false, 0u, true, 1u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {4, "strided", "rules.cu", {cutune_divide, cutune_fixed, cutune_fixed}, {cutune_guard_4_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, 0u, true, 1u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {5, "rows", "rules.cu", {cutune_rows, cutune_fixed, cutune_fixed}, {nullptr, nullptr, nullptr}, 0ull, 1024u, nullptr, 0ull, nullptr, false, 0u, true, 1u, cutune_free_5, 1ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
};
#include "cutune_probe.h"
#include "cutune_deduced.h"
#include "cutune_call.h"
#line 1 "rules.cu"
// What the table says of each dimension: guarded, dividing, fixed, kept.
#include <cstddef>

__global__ void guarded(int rows, size_t columns, float *x) {
    size_t j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < rows && j < columns) x[i * columns + j] = 0.0f;
}

__global__ void inner(unsigned n, float *x) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n - 1) x[i + 1] = 0.0f;
}

__global__ void unguarded(float *x) { x[blockIdx.x * blockDim.x + threadIdx.x] = 0.0f; }

__global__ void strided(int n, float *x) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        x[i] = 0.0f;
}

#pragma cutune kernel rows data(n) block(x: 64, 128, 256) grid(keep)
__global__ void rows(int n, float *x) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[blockIdx.x * n + i] = 0.0f;
}

void run(int rows, size_t columns, float *x) {
    dim3 block(32, 8);
    cutune_launch(1, dim3(4, 3), block) ? (void)0 : cutune_call(guarded)(rows, columns, x);
    cutune_launch(2, 64, 128) ? (void)0 : cutune_call(inner)(7000u, x);
    cutune_launch(3, 64, 128) ? (void)0 : cutune_call(unguarded)(x);
    cutune_launch(4, 64, 128) ? (void)0 : cutune_call(strided)(rows, x);
    cutune_launch(5, 64, 128) ? (void)0 : cutune_call(::rows)(rows, x);
}

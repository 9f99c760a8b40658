#include "cutune_launch.h"
static inline long long cutune_guard_1_x(const long long *cutune_argument) { const long long columns = cutune_argument[1]; return columns >= 0 && cutune_fits_int(columns) ? (columns) : 0; }
static inline long long cutune_guard_1_y(const long long *cutune_argument) { const long long rows = cutune_argument[0]; return cutune_fits_int(rows) ? (rows) : 0; }
static inline long long cutune_guard_2_x(const long long *cutune_argument) { const long long n = cutune_argument[0]; return n >= 0 && cutune_fits_int(n) ? (n - 1) : 0; }
static const cutune_site cutune_sites[] = {
    {1, "guarded", "rules.cu", {cutune_guarded, cutune_guarded, cutune_fixed}, {cutune_guard_1_x, cutune_guard_1_y, nullptr}, 3ull, 1024u, nullptr, 0ull, nullptr, false, true},
    {2, "inner", "rules.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_2_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, true},
    {3, "unguarded", "rules.cu", {cutune_divide, cutune_fixed, cutune_fixed}, {nullptr, nullptr, nullptr}, 0ull, 1024u, nullptr, 0ull, nullptr, false, true},
    {4, "strided", "rules.cu", {cutune_divide, cutune_fixed, cutune_fixed}, {nullptr, nullptr, nullptr}, 0ull, 1024u, nullptr, 0ull, nullptr, false, true},
    {5, "rows", "rules.cu", {cutune_kept, cutune_fixed, cutune_fixed}, {nullptr, nullptr, nullptr}, 0ull, 1024u, nullptr, 0ull, nullptr, false, true},
};
#include "cutune_probe.h"
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
    for (cutune_launch cutune_1(1, dim3(4, 3), block, 0, 0, rows, columns, x); cutune_1.next();) guarded<<<cutune_1.grid, cutune_1.block, cutune_1.smem, cutune_1.stream>>>(rows, columns, x);
    for (cutune_launch cutune_2(2, 64, 128, 0, 0, 7000u, x); cutune_2.next();) inner<<<cutune_2.grid, cutune_2.block, cutune_2.smem, cutune_2.stream>>>(7000u, x);
    for (cutune_launch cutune_3(3, 64, 128, 0, 0, x); cutune_3.next();) unguarded<<<cutune_3.grid, cutune_3.block, cutune_3.smem, cutune_3.stream>>>(x);
    for (cutune_launch cutune_4(4, 64, 128, 0, 0, rows, x); cutune_4.next();) strided<<<cutune_4.grid, cutune_4.block, cutune_4.smem, cutune_4.stream>>>(rows, x);
    for (cutune_launch cutune_5(5, 64, 128, 0, 0, rows, x); cutune_5.next();) ::rows<<<cutune_5.grid, cutune_5.block, cutune_5.smem, cutune_5.stream>>>(rows, x);
}

#define CUTUNE_TILES
#include "cutune_launch.h"
#include "cutune_range.h"
#include "cutune_allocation.h"
#include "cutune_exact.h"
static inline long long cutune_guard_1_x(const long long *argument_) { const cutune_exact n = argument_[0]; return cutune_fits_int(argument_[0]) ? cutune_bound(n) : 0; }
static inline long long cutune_guard_2_x(const long long *argument_) { const cutune_exact n = argument_[0]; return cutune_fits_int(argument_[0]) ? cutune_bound(n) : 0; }
static inline bool cutune_free_2(const long long *argument_, unsigned long long integers_, const long long *extent_, cutune_memory *allocation_) { (void)integers_; (void)extent_; return true && allocation_->are_apart(argument_[1], argument_[2]); }
static inline long long cutune_guard_3_x(const long long *argument_) { const cutune_exact n = argument_[0]; return cutune_fits_int(argument_[0]) ? cutune_bound(n) : 0; }
static inline bool cutune_free_3(const long long *argument_, unsigned long long integers_, const long long *extent_, cutune_memory *allocation_) { (void)integers_; (void)extent_; return true && allocation_->are_apart(argument_[1], argument_[2]); }
static inline long long cutune_guard_4_x(const long long *argument_) { const cutune_exact n = argument_[0]; return cutune_fits_int(argument_[0]) ? cutune_bound(n) : 0; }
static inline bool cutune_free_4(const long long *argument_, unsigned long long integers_, const long long *extent_, cutune_memory *allocation_) { (void)integers_; (void)extent_; return true && allocation_->are_apart(argument_[1], argument_[2]); }
static inline long long cutune_guard_5_x(const long long *argument_) { const cutune_exact n = argument_[0]; return cutune_fits_int(argument_[0]) ? cutune_bound(n) : 0; }
static inline long long cutune_guard_6_x(const long long *argument_) { const cutune_exact n = argument_[0]; return cutune_fits_int(argument_[0]) ? cutune_bound(n) : 0; }
static inline long long cutune_guard_7_x(const long long *argument_) { const cutune_exact n = argument_[0]; return cutune_fits_int(argument_[0]) ? cutune_bound(n) : 0; }
static inline long long cutune_guard_9_x(const long long *argument_) { const cutune_exact n = argument_[0]; return cutune_fits_int(argument_[0]) ? cutune_bound(n) : 0; }
static inline long long cutune_guard_10_x(const long long *argument_) { const cutune_exact n = argument_[0]; return cutune_fits_int(argument_[0]) ? cutune_bound(n) : 0; }
static inline long long cutune_guard_11_x(const long long *argument_) { const cutune_exact n = argument_[0]; return cutune_fits_int(argument_[0]) ? cutune_bound(n) : 0; }
static inline long long cutune_guard_12_x(const long long *argument_) { const cutune_exact n = argument_[0]; return cutune_fits_int(argument_[0]) ? cutune_bound(n) : 0; }
static inline long long cutune_guard_13_x(const long long *argument_) { const cutune_exact n = argument_[0]; return cutune_fits_int(argument_[0]) ? cutune_bound(n) : 0; }
static const cutune_site cutune_sites[] = {
    {1, "clear", "callees.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_1_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, 0u, true, 1u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {2, "copy", "callees.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_2_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, 0u, false, 1u, cutune_free_2, 6ull, true, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {3, "copy", "callees.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_3_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, 0u, false, 1u, cutune_free_3, 6ull, true, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {4, "copy", "callees.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_4_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, 0u, false, 1u, cutune_free_4, 6ull, true, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {5, "apply", "callees.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_5_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, 0u, false, 1u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {6, "apply", "callees.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_6_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, 0u, false, 1u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {7, "shifted", "callees.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_7_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, 0u, false, 1u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {9, "fill", "callees.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_9_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, 0u, true, 1u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {10, "fill", "callees.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_10_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, 0u, true, 1u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {11, "set", "callees.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_11_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, 0u, false, 1u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {12, "set", "callees.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_12_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, 0u, false, 1u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {13, "clear", "callees.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_13_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, 0u, true, 1u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
};
#include "cutune_probe.h"
#include "cutune_deduced.h"
#include "cutune_call.h"
#line 1 "callees.cu"
// Callees: a name alone, with template arguments written or deduced, or one of several.
#include <cstddef>
using namespace std;

template <class T>
__global__ void copy(int n, const T *from, T *to) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = from[i];
}

template <class F, class T, int unused = 3>
__global__ void apply(int n, T *x, F f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= f.factor;
}

template <int shift, class T>
__global__ void shifted(int n, T *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += shift;
}

template <class T, int size>
struct Row {
    T values[size];
};

template <class T, int size>
__global__ void rows(int n, T *x, Row<T, size> row) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = row.values[0];
}

__global__ void fill(int n, float *x, float value = 1 * 1);
__global__ void fill(int n, float *x, float value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = value;
}

__global__ void set(int n, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 1;
}
__global__ void set(int n, int *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 1;
}

namespace deep {
__global__ void clear(int n, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 0;
}
void run(int n, float *x) { cutune_launch(1, n, 32) ? (void)0 : cutune_call(clear)(n, x); }
}  // namespace deep

struct Factor {
    int factor;
};

void run(int n, float *x, const int *y, int *z) {
    cutune_launch(2, n, 32) ? (void)0 : cutune_call(::copy<cutune_constant_pointee<decltype((y))>>)(n, y, z);
    cutune_launch(3, n, 32) ? (void)0 : cutune_call(::copy<cutune_constant_pointee<decltype((x))>>)(n, /* from itself */ x, x);
    cutune_launch(4, n, 32) ? (void)0 : cutune_call(::copy<int>)(n, y + 1, z);
    cutune_launch(5, n, 32) ? (void)0 : cutune_call(::apply<cutune_by_value<decltype((Factor()))>, cutune_pointee<decltype((x))>>)(n, x, Factor());
    cutune_launch(6, n, 32) ? (void)0 : cutune_call(::apply<Factor, cutune_pointee<decltype((z))>>)(n, z, Factor());
    cutune_launch(7, n, 32) ? (void)0 : cutune_call(::shifted<3, cutune_pointee<decltype((z))>>)(n, z);
    rows<<<n, 32>>>(n, x, Row<float, 2>());
    for (cutune_repeated cutune_9(9, cutune_members<>(), n, 32, 0, 0, n, x); cutune_9.next();) fill<<<cutune_9.grid, cutune_9.block, cutune_9.smem, cutune_9.stream>>>(n, x);
    cutune_launch(10, n, 32) ? (void)0 : cutune_call(::fill)(n, x, 2);
    for (cutune_repeated cutune_11(11, cutune_members<>(), n, 32, 0, 0, n, x); cutune_11.next();) set<<<cutune_11.grid, cutune_11.block, cutune_11.smem, cutune_11.stream>>>(n, x);
    for (cutune_repeated cutune_12(12, cutune_members<>(), n, 32, 0, 0, n, z); cutune_12.next();) set<<<cutune_12.grid, cutune_12.block, cutune_12.smem, cutune_12.stream>>>(n, z);
    cutune_launch(13, n, 32) ? (void)0 : cutune_call(deep::clear)(n, x);
}

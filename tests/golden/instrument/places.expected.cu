#define CUTUNE_TILES
#include "cutune_launch.h"
#include "cutune_range.h"
#include "cutune_allocation.h"
#include "cutune_exact.h"
static inline long long cutune_guard_1_x(const long long *argument_) { const cutune_exact n = argument_[0]; return cutune_fits_int(argument_[0]) ? cutune_bound(n) : 0; }
static inline bool cutune_free_1(const long long *argument_, unsigned long long integers_, const long long *extent_, cutune_memory *allocation_) { (void)integers_; (void)extent_; return true && allocation_->are_apart(argument_[1], argument_[2]); }
static inline long long cutune_guard_2_x(const long long *argument_) { const cutune_exact n = argument_[0]; return cutune_fits_int(argument_[0]) ? cutune_bound(n) : 0; }
static inline bool cutune_free_2(const long long *argument_, unsigned long long integers_, const long long *extent_, cutune_memory *allocation_) { (void)integers_; (void)extent_; return true && allocation_->are_apart(argument_[1], argument_[2]); }
static inline long long cutune_guard_3_x(const long long *argument_) { const cutune_exact n = argument_[0]; return cutune_fits_int(argument_[0]) ? cutune_bound(n) : 0; }
static inline long long cutune_guard_4_x(const long long *argument_) { const cutune_exact n = argument_[0]; return cutune_fits_int(argument_[0]) ? cutune_bound(n) : 0; }
static inline bool cutune_free_4(const long long *argument_, unsigned long long integers_, const long long *extent_, cutune_memory *allocation_) { (void)integers_; (void)extent_; return true && allocation_->are_apart(argument_[1], argument_[2]); }
static inline long long cutune_guard_5_x(const long long *argument_) { const cutune_exact n = argument_[0]; return cutune_fits_int(argument_[0]) ? cutune_bound(n) : 0; }
static const cutune_site cutune_sites[] = {
    {1, "copy", "places.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_1_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, 0u, false, 1u, cutune_free_1, 6ull, true, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {2, "copy", "places.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_2_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, 0u, false, 1u, cutune_free_2, 6ull, true, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {3, "clear", "places.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_3_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, 0u, true, 1u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {4, "copy", "places.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_4_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, 0u, false, 1u, cutune_free_4, 6ull, true, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {5, "clear", "places.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_5_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, 0u, true, 1u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
};
#include "cutune_probe.h"
#include "cutune_deduced.h"
#include "cutune_call.h"
#line 1 "places.cu"
// Launches in a template, a lambda, a method and behind a label.
template <class T>
__global__ void copy(int n, const T *a, T *b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] = a[i];
}

namespace deep {
__global__ void clear(int n, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 0.0f;
}
}  // namespace deep

template <class T>
void copy_all(int n, const T *a, T *b) {
    cutune_launch(1, (n + 63) / 64, 64) ? (void)0 : cutune_call(copy<cutune_constant_pointee<decltype((a))>>)(n, a, b);
    cutune_launch(2, (n + 63) / 64, 64) ? (void)0 : cutune_call(copy<T>)(n, a, b);
}

struct Runner {
    int n;
    float *x;
    void run() const { cutune_launch(3, (n + 63) / 64, 64) ? (void)0 : cutune_call(deep::clear)(n, x); }
};

void run(int n, float *x, float *y) {
    auto later = [=] { cutune_launch(4, (n + 63) / 64, 64) ? (void)0 : cutune_call(copy<float>)(n, x, y); };
    later();
    copy_all(n, x, y);
    Runner{n, x}.run();
again:
    cutune_launch(5, (n + 63) / 64, 64) ? (void)0 : cutune_call(deep::clear)(n, x);
    if (n-- > 1) goto again;
}

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
static const cutune_site cutune_sites[] = {
    {1, "fill", "arguments.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_1_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, 0u, true, 1u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {2, "fill", "arguments.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_2_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, 0u, true, 1u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {3, "fill", "arguments.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_3_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, 0u, true, 1u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {4, "fill", "arguments.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_4_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, 0u, true, 1u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {5, "fill", "arguments.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_5_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, 0u, true, 1u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
};
#include "cutune_probe.h"
#include "cutune_deduced.h"
#include "cutune_call.h"
#line 1 "arguments.cu"
// Arguments whose copy needs care: braces, commas in templates, strings, static members.
struct Pair {
    int first, second;
};

template <class A, class B>
struct Tagged {
    A value;
    static const int size = 5;
};

template <class A, class B>
int twice(A a, B b) {
    return static_cast<int>(a + b);
}

__global__ void fill(int n, Pair pair, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = static_cast<float>(pair.first);
}

void run(int n, float *x) {
    cutune_launch(1, n / 32, 32) ? (void)0 : cutune_call(fill)(n, {1, 2}, x);
    cutune_launch(2, n / 32, 32) ? (void)0 : cutune_call(fill)(n, Pair{1, 2}, x);
    cutune_launch(3, n / 32, 32) ? (void)0 : cutune_call(fill)(twice<int, long>(n, 1), Pair(), x);
    cutune_launch(4, n / 32, 32) ? (void)0 : cutune_call(fill)(Tagged<int, float>::size, Pair(), x + 1);
    cutune_launch(5, n / 32, 32) ? (void)0 : cutune_call(fill)(sizeof "a b", Pair(), &x[n > 3 ? 1 : 0]);
}

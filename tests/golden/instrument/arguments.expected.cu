#include "cutune_launch.h"
static inline long long cutune_guard_1_x(const long long *cutune_argument) { const long long n = cutune_argument[0]; return cutune_fits_int(n) ? (n) : 0; }
static inline long long cutune_guard_2_x(const long long *cutune_argument) { const long long n = cutune_argument[0]; return cutune_fits_int(n) ? (n) : 0; }
static inline long long cutune_guard_3_x(const long long *cutune_argument) { const long long n = cutune_argument[0]; return cutune_fits_int(n) ? (n) : 0; }
static inline long long cutune_guard_4_x(const long long *cutune_argument) { const long long n = cutune_argument[0]; return cutune_fits_int(n) ? (n) : 0; }
static inline long long cutune_guard_5_x(const long long *cutune_argument) { const long long n = cutune_argument[0]; return cutune_fits_int(n) ? (n) : 0; }
static const cutune_site cutune_sites[] = {
    {1, "fill", "arguments.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_1_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, true},
    {2, "fill", "arguments.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_2_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, true},
    {3, "fill", "arguments.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_3_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, true},
    {4, "fill", "arguments.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_4_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, true},
    {5, "fill", "arguments.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_5_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, true},
};
#include "cutune_probe.h"
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
    for (cutune_launch cutune_1(1, n / 32, 32, 0, 0, n, cutune_unseen(), x); cutune_1.next();) fill<<<cutune_1.grid, cutune_1.block, cutune_1.smem, cutune_1.stream>>>(n, {1, 2}, x);
    for (cutune_launch cutune_2(2, n / 32, 32, 0, 0, n, cutune_unseen(), x); cutune_2.next();) fill<<<cutune_2.grid, cutune_2.block, cutune_2.smem, cutune_2.stream>>>(n, Pair{1, 2}, x);
    for (cutune_launch cutune_3(3, n / 32, 32, 0, 0, twice<int, long>(n, 1), Pair(), x); cutune_3.next();) fill<<<cutune_3.grid, cutune_3.block, cutune_3.smem, cutune_3.stream>>>(twice<int, long>(n, 1), Pair(), x);
    for (cutune_launch cutune_4(4, n / 32, 32, 0, 0, decltype(Tagged<int, float>::size)(Tagged<int, float>::size), Pair(), x + 1); cutune_4.next();) fill<<<cutune_4.grid, cutune_4.block, cutune_4.smem, cutune_4.stream>>>(Tagged<int, float>::size, Pair(), x + 1);
    for (cutune_launch cutune_5(5, n / 32, 32, 0, 0, sizeof "a b", Pair(), &x[n > 3 ? 1 : 0]); cutune_5.next();) fill<<<cutune_5.grid, cutune_5.block, cutune_5.smem, cutune_5.stream>>>(sizeof "a b", Pair(), &x[n > 3 ? 1 : 0]);
}

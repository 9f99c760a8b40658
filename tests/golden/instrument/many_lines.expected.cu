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
static inline bool cutune_free_3(const long long *argument_, unsigned long long integers_, const long long *extent_, cutune_memory *allocation_) { (void)integers_; (void)extent_; return true && allocation_->are_apart(argument_[1], argument_[2]); }
static const cutune_site cutune_sites[] = {
    {1, "add", "many_lines.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_1_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, 0u, true, 1u, cutune_free_1, 6ull, true, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {2, "add", "many_lines.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_2_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, 0u, true, 1u, cutune_free_2, 6ull, true, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {3, "add", "many_lines.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_3_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, 0u, true, 1u, cutune_free_3, 6ull, true, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
};
#include "cutune_probe.h"
#include "cutune_deduced.h"
#include "cutune_call.h"
#line 1 "many_lines.cu"
// Comments, line ends and continuations inside a configuration survive, line by line.
__global__ void add(int n, const float *a, float *b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] += a[i];
}

void run(int n, const float *a, float *b, cudaStream_t stream) {
    cutune_launch(1, dim3((n + 127) / 128), 128, 0, stream) ? (void)0 : cutune_call(add) // rounded up
 // blocks
 /* nothing
                  dynamic */
(n,
                    a,   // read
                    b);  // read and written
    cutune_launch(2, (n + 63) / 64, 64) ? (void)0 : cutune_call(add) \
(n, a, b);
    cutune_launch(3, n / 32, 32) ? (void)0 : cutune_call(add ) /* exact */ ( n , a , b ) ;
}

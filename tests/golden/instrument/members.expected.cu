#define CUTUNE_TILES
#include "cutune_launch.h"
#include "cutune_range.h"
#include "cutune_allocation.h"
#include "cutune_member.h"
#include "cutune_exact.h"
static inline long long cutune_guard_1_x(const long long *argument_) { const cutune_exact cutune_member_3 = argument_[3]; return cutune_fits_int(argument_[3]) ? cutune_bound(cutune_member_3) : 0; }
static inline long long cutune_guard_1_y(const long long *argument_) { const cutune_exact cutune_member_4 = argument_[4]; return argument_[4] >= 0 && cutune_fits_int(argument_[4]) ? cutune_bound(cutune_member_4 - 1) : 0; }
static inline long long cutune_guard_2_x(const long long *argument_) { const cutune_exact cutune_member_3 = argument_[3]; return cutune_fits_int(argument_[3]) ? cutune_bound(cutune_member_3) : 0; }
static inline long long cutune_guard_2_y(const long long *argument_) { const cutune_exact cutune_member_4 = argument_[4]; return argument_[4] >= 0 && cutune_fits_int(argument_[4]) ? cutune_bound(cutune_member_4 - 1) : 0; }
static inline long long cutune_guard_3_x(const long long *argument_) { const cutune_exact n = argument_[2]; return cutune_fits_int(argument_[2]) ? cutune_bound(n) : 0; }
static const cutune_site cutune_sites[] = {
    {1, "fill", "members.cu", {cutune_guarded, cutune_guarded, cutune_fixed}, {cutune_guard_1_x, cutune_guard_1_y, nullptr}, 24ull, 1024u, nullptr, 0ull, nullptr, false, 0u, true, 3u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {2, "fill", "members.cu", {cutune_guarded, cutune_guarded, cutune_fixed}, {cutune_guard_2_x, cutune_guard_2_y, nullptr}, 24ull, 1024u, nullptr, 0ull, nullptr, false, 0u, true, 3u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
    {3, "copy", "members.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_3_x, nullptr, nullptr}, 4ull, 1024u, nullptr, 0ull, nullptr, false, 0u, true, 1u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
};
#include "cutune_probe.h"
#include "cutune_deduced.h"
#include "cutune_call.h"
#line 1 "members.cu"
// Members of structures, which a launch tells besides its arguments.
namespace field {
typedef struct {
    int nx, ny;
    float h;
} Grid;
}

__global__ void fill(field::Grid g, uint2 window, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < g.nx && j < window.y - 1) x[j * g.nx + i] = g.h;
}

// Only as a whole: nothing is seen of it.
__global__ void copy(field::Grid g, field::Grid *to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = g;
}

void run(int n, const field::Grid &g, field::Grid *grids, float *x) {
    cutune_launch(1, dim3(n, n), dim3(32, 4)) ? (void)0 : cutune_call(fill, cutune_members<cutune_member< ::field::Grid, 0, cutune_place<decltype(&::field::Grid::nx), &::field::Grid::nx>>, cutune_member< ::uint2, 1, cutune_place<decltype(&::uint2::y), &::uint2::y>>>())(g, make_uint2(n, n), x);
    if (n > 3)
        cutune_launch(2, dim3(n, n), dim3(32, 4)) ? (void)0 : cutune_call(fill, cutune_members<cutune_member< ::field::Grid, 0, cutune_place<decltype(&::field::Grid::nx), &::field::Grid::nx>>, cutune_member< ::uint2, 1, cutune_place<decltype(&::uint2::y), &::uint2::y>>>())({n, n, 0.5f},  // an initialiser
                                          make_uint2(n, n), x);
    cutune_launch(3, n, 32) ? (void)0 : cutune_call(copy)(g, grids, 32 * n);
}

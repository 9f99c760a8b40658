#define CUTUNE_TILES
#include "cutune_launch.h"
#include "cutune_range.h"
#include "cutune_allocation.h"
#include "cutune_exact.h"
static inline long long cutune_guard_1_x(const long long *argument_) { const cutune_exact n = argument_[0]; return cutune_fits_int(argument_[0]) ? cutune_bound(n) : 0; }
static const cutune_site cutune_sites[] = {
    {1, "fill", "crlf_and_mark.cu", {cutune_guarded, cutune_fixed, cutune_fixed}, {cutune_guard_1_x, nullptr, nullptr}, 1ull, 1024u, nullptr, 0ull, nullptr, false, 0u, true, 1u, nullptr, 0ull, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr},
};
#include "cutune_probe.h"
#include "cutune_deduced.h"
#include "cutune_call.h"
#line 1 "crlf_and_mark.cu"
// A byte order mark and CR LF line ends stay.
__global__ void fill(int n, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 1.0f;
}

void run(int n, float *x) {
    cutune_launch(1, (n + 255) / 256, 256) ? (void)0 : cutune_call(fill) // blocks
(n, x);
}

// Answers questions about cutune_fit_launch: one per line of standard input,
// `rule[3] bound[3] grid[3] block[3] new_block[3] max_threads needs_warps single_thread indexed
// captured bound threads narrow`. `bound`: 0: warps may be regrouped, 1: not with these arguments; `threads`: those that
// the compiled kernel allows.
#include <stdio.h>

#include "cutune_launch.h"

static long long bound_x(const long long *arguments) { return arguments[0]; }
static long long bound_y(const long long *arguments) { return arguments[1]; }
static long long bound_z(const long long *arguments) { return arguments[2]; }
static bool never(const long long *, unsigned long long, const long long *, cutune_memory *) { return false; }
static bool always(const long long *, unsigned long long, const long long *, cutune_memory *) { return true; }

int main() {
    int rule[3], warps, captured, is_bound, narrow;
    long long bound[3];
    unsigned grid[3], block[3], other[3], most, single, indexed, threads;
    while (scanf("%d %d %d %lld %lld %lld %u %u %u %u %u %u %u %u %u %u %d %u %u %d %d %u %d", &rule[0],
                 &rule[1], &rule[2], &bound[0], &bound[1], &bound[2], &grid[0], &grid[1], &grid[2],
                 &block[0], &block[1], &block[2], &other[0], &other[1], &other[2], &most, &warps,
                 &single, &indexed, &captured, &is_bound, &threads, &narrow) == 23) {
        cutune_site site = {1, "", "", {}, {bound_x, bound_y, bound_z}, 7, most, nullptr, 0,
                            nullptr, warps != 0, single, true, indexed | (narrow ? 8u : 0u),
                            is_bound != 0 ? never : always, 0,
                            false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr};
        for (int d = 0; d < 3; ++d) site.rule[d] = static_cast<cutune_rule>(rule[d]);
        cutune_limits limits;
        if (!cutune_ask_kernel(site, nullptr, &limits)) return 1;
        if (threads < limits.threads) limits.threads = threads;
        const cutune_request request =
            cutune_make_request(site, dim3(grid[0], grid[1], grid[2]),
                                dim3(block[0], block[1], block[2]), 0, bound, 7, limits,
                                captured != 0, nullptr);
        dim3 fitted(0, 0, 0);
        size_t bytes = 0;
        const bool allowed = cutune_fit_launch(
            site, request, dim3(other[0], other[1], other[2]), &fitted, &bytes);
        printf("%d %u %u %u %u\n", allowed ? 1 : 0, fitted.x, fitted.y, fitted.z, request.guarded);
    }
}

// No launch is made, and no kernel is asked.
extern "C" cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *, const void *) {
    return cudaErrorInvalidValue;
}
extern "C" cudaError_t cudaGetLastError() { return cudaSuccess; }

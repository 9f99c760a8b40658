// Answers questions about cutune_fit_launch with shared memory of 4 * x bytes, or with what the
// launch asks for, of so many bytes at least: one per line of standard input,
// `asked_bytes block new_block least_bytes`, of which the last is 0 for the formula.
#include <stdio.h>

#include "cutune_launch.h"

static long long four_per_thread(long long x, long long, long long) { return 4 * x; }

int main() {
    unsigned long long asked;
    unsigned block, other, least;
    cutune_site site = {1, "", "", {cutune_divide, cutune_fixed, cutune_fixed},
                              {nullptr, nullptr, nullptr}, 0, 1024, nullptr, 0, four_per_thread,
                              false, 0, true, 1, nullptr, 0, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr};
    const cutune_limits limits = {1024, static_cast<size_t>(1) << 20};
    while (scanf("%llu %u %u %u", &asked, &block, &other, &least) == 4) {
        site.shared = least ? nullptr : four_per_thread;
        site.least = least;
        const cutune_request request = cutune_make_request(
            site, dim3(1 << 20), dim3(block), static_cast<size_t>(asked), nullptr, 0,
            limits, false, nullptr);
        dim3 grid(0);
        size_t bytes = 1;
        const bool allowed = cutune_fit_launch(site, request, dim3(other), &grid, &bytes);
        printf("%d %u %llu\n", allowed ? 1 : 0, grid.x, static_cast<unsigned long long>(bytes));
    }
}

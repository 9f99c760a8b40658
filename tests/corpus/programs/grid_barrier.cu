// Cooperative launches: every block waits for all others, several times.
#include <cooperative_groups.h>

#include "check.h"

namespace cg = cooperative_groups;

__global__ void prefix_sums(int n, int *in, int *out) {
    cg::grid_group grid = cg::this_grid();
    const int i = grid.thread_rank();
    for (int step = 1; step < n; step *= 2) {
        out[i] = i >= step ? in[i] + in[i - step] : in[i];
        grid.sync();
        int *const swap = in;
        in = out;
        out = swap;
    }
}

int main() {
    int n = 4096, *a, *b;
    SUCCEED(cudaMallocManaged(&a, n * sizeof *a));
    SUCCEED(cudaMalloc(&b, n * sizeof *b));
    for (int i = 0; i < n; ++i) a[i] = i % 7;
    void *arguments[] = {&n, &a, &b};
    SUCCEED(cudaLaunchCooperativeKernel((void *)prefix_sums, n / 128, 128, arguments, 0, nullptr));
    SUCCEED(cudaDeviceSynchronize());
    int sum = 0;  // 12 steps: the result is in `a` again
    for (int i = 0; i < n; ++i) REQUIRE(a[i] == (sum += i % 7));

    // More blocks than fit on the device at once.
    const cudaError_t error =
        cudaLaunchCooperativeKernel((void *)prefix_sums, 1 << 20, 128, arguments, 0, nullptr);
    REQUIRE(error == cudaErrorCooperativeLaunchTooLarge);
    REQUIRE(cudaGetLastError() == error);
    return pass();
}

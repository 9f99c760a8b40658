// The emulated device's own calls, found through weak symbols as instrumented programs find them.
#include "check.h"

extern "C" {
__attribute__((weak)) void cutune_emulated_site(int site);
__attribute__((weak)) int cutune_emulated_snapshot(void);
__attribute__((weak)) int cutune_emulated_restore(void);
}

__device__ int launches;

__global__ void spoil(int n, int *x) {
    if (threadIdx.x == 0) ++launches;
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] += i;
}

int main() {
    const int n = 10000;
    int *x, got[2], count;
    REQUIRE(cutune_emulated_snapshot && cutune_emulated_restore && cutune_emulated_site);
    SUCCEED(cudaMalloc(&x, n * sizeof(int)));
    SUCCEED(cudaMemset(x, 0, n * sizeof(int)));
    spoil<<<1, 256>>>(n, x);
    REQUIRE(cutune_emulated_snapshot() == 0);
    for (int i = 0; i < 3; ++i) {
        cutune_emulated_site(7);
        spoil<<<1, 64>>>(n, x);
        REQUIRE(cutune_emulated_restore() == 0);
    }
    SUCCEED(cudaMemcpy(got, x + n - 2, sizeof got, cudaMemcpyDeviceToHost));
    REQUIRE(got[0] == n - 2 && got[1] == n - 1);
    SUCCEED(cudaMemcpyFromSymbol(&count, launches, sizeof count));
    REQUIRE(count == 1);
    return pass();
}

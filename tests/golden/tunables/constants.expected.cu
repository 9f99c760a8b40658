#include "cutune_tunables.h"
#ifndef CUTUNE_VALUE_WPT
#define CUTUNE_VALUE_WPT 1
#endif
#ifndef CUTUNE_VALUE_BLOCK
#define CUTUNE_VALUE_BLOCK 128
#endif
#ifndef CUTUNE_VALUE_KIND
#define CUTUNE_VALUE_KIND float
#endif
#ifndef CUTUNE_VALUE_rows
#define CUTUNE_VALUE_rows 2 * 1
#endif
#ifndef CUTUNE_VALUE_first
#define CUTUNE_VALUE_first 1
#endif
#ifndef CUTUNE_VALUE_second
#define CUTUNE_VALUE_second 3
#endif
#ifndef CUTUNE_VALUE_inner
#define CUTUNE_VALUE_inner 1
#endif
#line 1 "constants.cu"
// Macros and constants that may be chosen when the program is compiled.
#pragma cutune tune(WPT: 1..10) data(n) where(WPT * BLOCK <= 1024)
#define WPT CUTUNE_VALUE_WPT // elements per thread
#pragma cutune tune(BLOCK: 64, 128, 256, KIND: float, double) data(n)
#ifndef BLOCK
#define BLOCK CUTUNE_VALUE_BLOCK
#endif
#define KIND CUTUNE_VALUE_KIND
#pragma cutune tune(rows: 1, 2)
static constexpr int rows = CUTUNE_VALUE_rows; // behind
#pragma cutune tune(first: 1, 2, second: 3, 4) data(n)
const unsigned first = CUTUNE_VALUE_first;
inline constexpr long second = CUTUNE_VALUE_second;

__global__ void fill(int n, KIND *x) {
#pragma cutune tune(inner: 1, 2)
    constexpr int inner = CUTUNE_VALUE_inner;
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * WPT * inner;
    if (i < n) x[i] = rows;
}

void solve(int n, KIND *x) {
cutune_region_begin(1);
    fill<<<n / BLOCK, BLOCK>>>(n, x);
cutune_region_end(1);
}

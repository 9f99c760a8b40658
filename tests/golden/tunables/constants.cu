// Macros and constants that may be chosen when the program is compiled.
#pragma cutune tune(WPT: 1..10) data(n) where(WPT * BLOCK <= 1024)
#define WPT 1 // elements per thread
#pragma cutune tune(BLOCK: 64, 128, 256, KIND: float, double) data(n)
#ifndef BLOCK
#define BLOCK 128
#endif
#define KIND float
#pragma cutune tune(rows: 1, 2)
static constexpr int rows = 2 * 1; // behind
#pragma cutune tune(first: 1, 2, second: 3, 4) data(n)
const unsigned first = 1;
inline constexpr long second = 3;

__global__ void fill(int n, KIND *x) {
#pragma cutune tune(inner: 1, 2)
    constexpr int inner = 1;
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * WPT * inner;
    if (i < n) x[i] = rows;
}

void solve(int n, KIND *x) {
#pragma cutune region begin
    fill<<<n / BLOCK, BLOCK>>>(n, x);
#pragma cutune region end
}

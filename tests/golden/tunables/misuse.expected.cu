#include "cutune_tunables.h"
#line 1 "misuse.cu"
// Pragmas that cannot be honoured: each has no effect at all.
__global__ void fill(int n, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma cutune tune(i: 1, 2) data(n) // expect CT250: pragma ignored: it stands outside of host functions; put it before a local declaration, a #define or a constexpr int
    if (i < n) x[i] = 1;
}

#pragma cutune tune(limit: 1, 2) data(n) // expect CT250: pragma ignored: it stands outside of host functions; put it before a local declaration, a #define or a constexpr int
int limit = 3;

int chosen(int N) {
#pragma cutune tune(a: 1, 2) data(N) // expect CT251: pragma ignored: the next statement does not give 'a' a value; write after the pragma, in the same block: int a = VALUE;
    int a;
    a = 1;
#pragma cutune tune(b: 1, 2) data(N) // expect CT251: pragma ignored: the next statement does not give 'b' a value; write after the pragma, in the same block: int b = VALUE;
    int b{4};
#pragma cutune tune(c: 1, 2) data(N) // expect CT252: pragma ignored: 'c' is 'static int', not an integer variable; write: int c = VALUE;
    static int c = 4;
#pragma cutune tune(d: 1, 2) data(N) // expect CT252: pragma ignored: 'd' is 'double', not an integer variable; write: int d = VALUE;
    double d = 4;
#pragma cutune tune(e: 1, 2) data(M) // expect CT253: pragma ignored: 'M' does not occur before it; name sizes that are known there in data(...)
    int e = 4;
#pragma cutune tune(f: 1, 2) // expect CT254: pragma ignored: it names no sizes; add those that the choice depends on: data(N)
    int f = 4;
#pragma cutune tune(g: 1, 2) data(N)
    int g = cutune_tunable("g", (4), {{"N", (long long)(N)}});
#pragma cutune tune(g: 1, 2) data(N) // expect CT255: pragma ignored: 'g' is tuned by an earlier pragma
    g = 5;
#pragma cutune tune(h: 4..1) data(N) // expect CT256: pragma ignored: 'h' needs 1 to 4096 integers, each of them once, a range in rising order
    int h = 4;
#pragma cutune tune(o: 4, 8, 4) data(N) // expect CT256: pragma ignored: 'o' needs 1 to 4096 integers, each of them once, a range in rising order
    int o = 4;
#pragma cutune tune(w: 4, fast) data(N) // expect CT256: pragma ignored: 'w' needs 1 to 4096 integers, each of them once, a range in rising order
    int w = 4;
#pragma cutune tune(k: 1, 2) data(N) // expect CT251: pragma ignored: the next statement does not give 'k' a value; write after the pragma, in the same block: int k = VALUE;
    {
        int k = 4;
    }
#pragma cutune tune(q: 1, 2) data(N) // expect CT252: pragma ignored: 'q' is 'int *', not an integer variable; write: int q = VALUE;
    int *q = &h;
#pragma cutune tune(r: 1, 2) data(N) // expect CT261: pragma ignored: the value of 'r' changes a variable; compute it before
    int r = N++;
#pragma cutune tune(s: 1, 2) data(N) where(N > s * M) // expect CT262: pragma ignored: its condition holds 'M'; only N, s may occur in it
    int s = 1;
    return s + r + a + b + c + d + e + f + g + h + *q;
}

void solve(int N, float *x) {
#pragma cutune region end // expect CT257: region ignored: it has no matching 'region begin'
    if (N)
#pragma cutune region begin // expect CT259: region ignored: no statement may stand here; put the pragma between two statements of a host function, in braces
        fill<<<N / 32, 32>>>(N, x);
    for (int i = 0; i < 3; ++i) {
#pragma cutune region begin
        fill<<<N / 32, 32>>>(N, x);
    }
#pragma cutune region end // expect CT258: region ignored: begin and end stand in different blocks, or regions are nested; put both into one block
#pragma cutune region begin // expect CT257: region ignored: it has no matching 'region end'
    fill<<<N / 32, 32>>>(N, x);
}

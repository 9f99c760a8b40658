#include "cutune_tunables.h"
#line 1 "repeating.cu"
// Regions that may run again with other values, and what stops others.
__global__ void fill(int n, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 1;
}

int step(int n, int m, float *x);

int solve(int N, float *x) {
#pragma cutune tune(R: 0, 1) data(N)
    int R = cutune_tunable("R", (0), {{"N", (long long)(N)}}), unrelated = N;
#pragma cutune tune(m: 4, 8, 16) data(N, R)
    unsigned long m = cutune_tunable("m", (5), {{"N", (long long)(N)}, {"R", (long long)(R)}});
    // Calls before it are the program's affair.
    if (step(N, (int)m, x)) return 1;
    fill<<<N, m>>>(N, x);
    for (int i = 0; i < 2; ++i) {
cutune_again_1:; cutune_region_begin(1);
        int blocks = (N + m - 1) / m;
        fill<<<blocks, m>>>(N, x);
cutune_region_end(1); { const int cutune_next = cutune_region_again(); if (cutune_next > 0) { cutune_give_next("R", R); cutune_give_next("m", m); } if (cutune_next > 1) goto cutune_again_1; } // behind
        step(N, R, x);
    }
    return unrelated;
}

void nothing_to_assign(int N, float *x) {
cutune_again_2:; cutune_region_begin(2); \

    step(N, 1, x);
cutune_region_end(2); { const int cutune_next = cutune_region_again(); if (cutune_next > 0) { } if (cutune_next > 1) goto cutune_again_2; }
}

void constant(int N, float *x) {
#pragma cutune tune(a: 4, 8) data(N)
    const int a = cutune_tunable("a", (4), {{"N", (long long)(N)}});
cutune_region_begin(3); // expect CT266: 'repeat' ignored, each configuration has a process of its own: 'a' is const; drop const
    fill<<<N, a>>>(N, x);
cutune_region_end(3);
}

void computed(int N, float *x) {
#pragma cutune tune(b: 4, 8) data(N)
    int b = cutune_tunable("b", (4), {{"N", (long long)(N)}});
    dim3 block(b);
cutune_region_begin(4); // expect CT266: 'repeat' ignored, each configuration has a process of its own: line 45 computes with 'b' outside of it; move that statement into the region
    fill<<<N, block>>>(N, x);
cutune_region_end(4);
}

void elsewhere(int N, float *x) {
    int c;
    if (N) {
#pragma cutune tune(c: 4, 8) data(N)
        c = cutune_tunable("c", (4), {{"N", (long long)(N)}});
    }
cutune_region_begin(5); // expect CT266: 'repeat' ignored, each configuration has a process of its own: 'c' is not declared in a block around it; write int c = VALUE; there, before the region
    fill<<<N, c>>>(N, x);
cutune_region_end(5);
}

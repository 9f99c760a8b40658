#include "cutune_tunables.h"
#line 1 "forms.cu"
// Host integers that may be chosen: declarations, assignments, several at once, regions.
struct Problem {
    int n, m;
    Problem *next;
}; unsigned long sum(int, int); template <int, int> int largest(int, int);

__global__ void fill(int n, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 1;
}

int chosen(int N, Problem *p) {
    // A declaration, with the one that follows from it.
#pragma cutune tune(R: 0..4) data(N)
    const int R = cutune_tunable("R", (N > 1000 ? 1 : 0), {{"N", (long long)(N)}}), twice = 2 * R;
    // Given another, and by a member.
#pragma cutune tune(m: 4, 8, 16, 32) data(N, p->n, R) where(p->n >= 2 * m || R == 0) // trailing words
    unsigned long m = cutune_tunable("m", (sum(N, twice)), {{"N", (long long)(N)}, {"p->n", (long long)(p->n)}, {"R", (long long)(R)}}), unrelated = 1;
    // An assignment, over several lines.
#pragma cutune tune(p->m: 1, 2) data(p->next->n)
    p->m = cutune_tunable("p.m", (N *
        (3 + unrelated)), {{"p->next->n", (long long)(p->next->n)}});
    // Commas that end nothing, and one declaration of two.
#pragma cutune tune(u: 1, 2, v: 3, 4) data(N)
    int u = cutune_tunable("u", (largest<1, 2>(N, 3)), {{"N", (long long)(N)}}), v = cutune_tunable("v", (N < 3 ? 1 : 2), {{"N", (long long)(N)}});
    // Chosen together.
#pragma cutune tune(S: 1, 2, block: 64, 128) \
    data(N)
    int S = cutune_tunable("S", (1), {{"N", (long long)(N)}});
    if (N) S += 1;
    auto block = cutune_tunable("block", (256), {{"N", (long long)(N)}});
    return m + S + block + R;
}

void solve(int N, float *x) {
    for (int step = 0; step < 3; ++step) {
cutune_region_begin(1);
        fill<<<N / 32, 32>>>(N, x);
cutune_region_end(1); /* behind */
    }
}

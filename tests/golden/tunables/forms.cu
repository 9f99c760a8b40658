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
    const int R = N > 1000 ? 1 : 0, twice = 2 * R;
    // Given another, and by a member.
#pragma cutune tune(m: 4, 8, 16, 32) data(N, p->n, R) where(p->n >= 2 * m || R == 0) // trailing words
    unsigned long m = sum(N, twice), unrelated = 1;
    // An assignment, over several lines.
#pragma cutune tune(p->m: 1, 2) data(p->next->n)
    p->m = N *
        (3 + unrelated);
    // Commas that end nothing, and one declaration of two.
#pragma cutune tune(u: 1, 2, v: 3, 4) data(N)
    int u = largest<1, 2>(N, 3), v = N < 3 ? 1 : 2;
    // Chosen together.
#pragma cutune tune(S: 1, 2, block: 64, 128) \
    data(N)
    int S = 1;
    if (N) S += 1;
    auto block = 256;
    return m + S + block + R;
}

void solve(int N, float *x) {
    for (int step = 0; step < 3; ++step) {
#pragma cutune region begin
        fill<<<N / 32, 32>>>(N, x);
    #pragma cutune region end /* behind */
    }
}

// Regions that may run again with other values, and what stops others.
__global__ void fill(int n, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 1;
}

int step(int n, int m, float *x);

int solve(int N, float *x) {
#pragma cutune tune(R: 0, 1) data(N)
    int R = 0, unrelated = N;
#pragma cutune tune(m: 4, 8, 16) data(N, R)
    unsigned long m = 5;
    // Calls before it are the program's affair.
    if (step(N, (int)m, x)) return 1;
    fill<<<N, m>>>(N, x);
    for (int i = 0; i < 2; ++i) {
#pragma cutune region begin repeat
        int blocks = (N + m - 1) / m;
        fill<<<blocks, m>>>(N, x);
#pragma cutune region end // behind
        step(N, R, x);
    }
    return unrelated;
}

void nothing_to_assign(int N, float *x) {
#pragma cutune region \
    begin repeat
    step(N, 1, x);
#pragma cutune region end
}

void constant(int N, float *x) {
#pragma cutune tune(a: 4, 8) data(N)
    const int a = 4;
#pragma cutune region begin repeat // expect CT266: 'repeat' ignored, each configuration has a process of its own: 'a' is const; drop const
    fill<<<N, a>>>(N, x);
#pragma cutune region end
}

void computed(int N, float *x) {
#pragma cutune tune(b: 4, 8) data(N)
    int b = 4;
    dim3 block(b);
#pragma cutune region begin repeat // expect CT266: 'repeat' ignored, each configuration has a process of its own: line 45 computes with 'b' outside of it; move that statement into the region
    fill<<<N, block>>>(N, x);
#pragma cutune region end
}

void elsewhere(int N, float *x) {
    int c;
    if (N) {
#pragma cutune tune(c: 4, 8) data(N)
        c = 4;
    }
#pragma cutune region begin repeat // expect CT266: 'repeat' ignored, each configuration has a process of its own: 'c' is not declared in a block around it; write int c = VALUE; there, before the region
    fill<<<N, c>>>(N, x);
#pragma cutune region end
}

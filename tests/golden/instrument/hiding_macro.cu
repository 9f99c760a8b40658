// A macro that would expand inside the rewritten launch keeps cutune away from it.
#define block 256

__global__ void fill(int n, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 1.0f;
}

void run(int n, float *x) { fill<<<(n + 255) / 256, block>>>(n, x); }  // expect CT302: launch left alone: macro 'block' would expand inside the rewritten launch; rename it

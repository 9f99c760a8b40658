// A macro that would expand inside a repeated launch keeps cutune away from the file.
#define block 256

__global__ void fill(int n, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 1.0f;
}

__global__ void set(int n, float *x, float value = 1 * 1) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = value;
}

void run(int n, float *x) { fill<<<(n + 255) / 256, block>>>(n, x); }  // expect CT302: launch left alone: macro 'block' would expand inside the rewritten launch; rename it
void set_all(int n, float *x) { set<<<(n + 255) / 256, block>>>(n, x); }  // expect CT302: launch left alone: macro 'block' would expand inside the rewritten launch; rename it
